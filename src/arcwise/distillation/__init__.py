"""Knowledge distillation: a student parser learns from a teacher's distributions over trees."""

from arcwise.distillation.soft_targets import SoftTargets
from arcwise.distillation.teacher import (
    Distillation,
    DistillationConfig,
    DistillationData,
    distillation_data,
    distillation_report,
)

__all__ = [
    "Distillation",
    "DistillationConfig",
    "DistillationData",
    "SoftTargets",
    "distillation_data",
    "distillation_report",
]
