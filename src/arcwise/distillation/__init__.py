"""Knowledge distillation: a student parser learns from a teacher's distributions over trees."""

from arcwise.distillation.predictions import BatchTeacher, TeacherPredictions
from arcwise.distillation.soft_tags import SoftTags
from arcwise.distillation.soft_targets import SoftTargets
from arcwise.distillation.teacher import (
    Distillation,
    DistillationConfig,
    DistillationData,
    distillation_data,
    distillation_report,
)

__all__ = [
    "BatchTeacher",
    "Distillation",
    "DistillationConfig",
    "DistillationData",
    "SoftTags",
    "SoftTargets",
    "TeacherPredictions",
    "distillation_data",
    "distillation_report",
]
