# arcwise serve in a container: Python and arcwise, no compiler, no shell, a user without rights.
#   docker build -t arcwise .
#   docker run --rm -p 8080:8080 --read-only arcwise
# tests/web/test_serve_container.py runs the RUN lines of the first stage without Docker, and measures what they make.

FROM python:3.11-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ git
COPY . /src
WORKDIR /src
# No byte code (Python runs without), no tests of libraries, and nothing a service does not use: static libraries, headers.
RUN pip install --no-cache-dir --no-compile --ignore-installed --prefix /install '.[web]'
RUN cd /install/lib/python3.11/site-packages && rm -rf pygments numpy/_core/include numpy/_core/lib numpy/f2py arcwise/shipped_models/README*
RUN find /install -depth \( -name tests -o -name __pycache__ -o -name '*.pyi' \) -exec rm -rf {} +
# Ours alone: the libraries in wheels of others were rewritten after they were linked, and strip breaks some of them (numpy's OpenBLAS).
RUN find /install -path '*/site-packages/arcwise/*' -name '*.so' -exec strip --strip-unneeded {} +

FROM gcr.io/distroless/python3-debian12:nonroot
COPY --from=build /install/lib/python3.11/site-packages /usr/lib/python3.11/site-packages
ENV PYTHONPATH=/usr/lib/python3.11/site-packages PYTHONDONTWRITEBYTECODE=1
EXPOSE 8080
ENTRYPOINT ["/usr/bin/python3", "-m", "arcwise", "serve", "--host", "0.0.0.0"]
