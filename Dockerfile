# The images of the two commands, each with one static binary and no shell, and of the NATS server.
# Build one with --target coordinator, worker or nats; docker-compose.yml builds these. --target worker-opencl
# is a worker for GPUs, see docs/gpus.md.
#
# A new volume gets the owner and the mode of the folder where it is mounted first. So nothing has to
# run as root: 65532 is the user of the commands, 65533 that of the server. The group of both is 65532,
# and the key of the server's certificate is readable for the group.
#
# The build stage runs on the machine that builds, and compiles for the platforms of the images:
# docker buildx build --platform linux/amd64,linux/arm64 emulates nothing.
# The base of worker-opencl: any with glibc, such as one with the driver of a device.
ARG OPENCL_BASE=debian:bookworm-slim

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
# A separate layer for the modules, which changes only with go.mod and go.sum.
COPY go.mod go.sum ./
RUN go mod download
COPY proto ./proto
COPY pkg ./pkg
COPY coordinator ./coordinator
COPY worker ./worker
# Printed by --version: git describe --always --dirty, git rev-parse HEAD, date -u +%FT%TZ.
ARG VERSION= COMMIT= DATE=
# Set by the builder.
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/root/.cache/go-build \
    mkdir -p /image/bin && CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -o /image/bin/ -ldflags "-s -w \
      -X nqueens/pkg/cli.version=$VERSION -X nqueens/pkg/cli.commit=$COMMIT -X nqueens/pkg/cli.date=$DATE" \
      ./coordinator ./worker

# The worker with OpenCL loads drivers, so it is not static.
FROM build AS build-opencl
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags opencl -trimpath -o /image/opencl/ -ldflags "-s -w \
      -X nqueens/pkg/cli.version=$VERSION -X nqueens/pkg/cli.commit=$COMMIT -X nqueens/pkg/cli.date=$DATE" ./worker && \
    echo libnvidia-opencl.so.1 >/image/nvidia.icd

FROM build AS folders
# Folders of the images. What a coordinator, a server and workers need of the keys is in folders that can be
# volumes of their own.
WORKDIR /folders
RUN mkdir -p coordinator/data coordinator/keys/coordinator coordinator/keys/server coordinator/keys/worker worker/identity opencl/identity opencl/cache nats/data && \
    chmod -R go= . && chmod 750 coordinator/keys/server

# NQUEENS_HTTP serves health checks inside the container; coordinator health and worker health
# query it.
FROM scratch AS coordinator
COPY --from=build /image/bin/coordinator /bin/coordinator
COPY --from=folders --chown=65532:65532 /folders/coordinator /
USER 65532:65532
ENV NQUEENS_DATA=/data NQUEENS_HTTP=127.0.0.1:8080 NQUEENS_HTTP_URL=none
ENTRYPOINT ["/bin/coordinator"]

# A worker keeps its key in /identity.
FROM scratch AS worker
COPY --from=build /image/bin/worker /bin/worker
COPY --from=folders --chown=65532:65532 /folders/worker /
USER 65532:65532
ENV NQUEENS_IDENTITY=/identity/worker.nkey NQUEENS_HTTP=127.0.0.1:8080
VOLUME /identity
ENTRYPOINT ["/bin/worker"]

# A worker for GPUs, on a base with glibc. It needs no loader of OpenCL: the drivers are those that the files
# of /etc/OpenCL/vendors name. NVIDIA's container toolkit mounts its driver, but not always that file. Drivers
# keep compiled kernels in /cache.
FROM ${OPENCL_BASE} AS worker-opencl
COPY --from=build-opencl /image/opencl/worker /bin/worker
COPY --from=build-opencl /image/nvidia.icd /etc/OpenCL/vendors/nvidia.icd
COPY --from=folders --chown=65532:65532 /folders/opencl /
USER 65532:65532
ENV NQUEENS_IDENTITY=/identity/worker.nkey NQUEENS_HTTP=127.0.0.1:8080 NQUEENS_KERNEL=opencl:0
ENV CUDA_CACHE_PATH=/cache POCL_CACHE_DIR=/cache XDG_CACHE_HOME=/cache
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
VOLUME /identity /cache
ENTRYPOINT ["/bin/worker"]

# The server as it is published, but not as root.
FROM nats:2.15.2-alpine AS nats
COPY --from=folders --chown=65533:65532 /folders/nats /
USER 65533:65532
