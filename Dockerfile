# The images of the two programs. Each has one static binary and root certificates, and no shell. Build one with --target
# coordinator or --target worker; docker-compose.yml builds both. --target worker-opencl is a worker for GPUs: see
# docs/cluster.md. BuildKit and Docker's classic builder can build them. With BuildKit, the build stage runs on the platform of the
# machine that builds, and compiles for the platform of the image. The classic builder knows no such platforms: there, linux
# stands for the platform of the machine.
ARG BUILDPLATFORM=${BUILDPLATFORM:-linux}
ARG OPENCL_BASE=debian:bookworm-slim

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# The largest modules are compiled here, so that they are not compiled again after each change of the sources.
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    github.com/nats-io/nats-server/v2/server github.com/nats-io/nats.go google.golang.org/protobuf/proto github.com/spf13/cobra
COPY proto ./proto
COPY pkg ./pkg
COPY coordinator ./coordinator
COPY worker ./worker
# The command version prints VERSION and COMMIT: git describe --always --dirty, and git rev-parse HEAD.
ARG VERSION=
ARG COMMIT=
RUN mkdir -p /image/bin /image/data /image/etc/ssl/certs && chmod 700 /image/data && \
    { cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ || true; } && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -o /image/bin/ \
    -ldflags "-s -w -X nqueens/pkg/cli.version=$VERSION -X nqueens/pkg/cli.commit=$COMMIT" ./coordinator ./worker

FROM scratch AS coordinator
COPY --from=build /image/etc /etc
COPY --from=build --chown=65532:65532 /image/data /data
COPY --from=build /image/bin/coordinator /bin/coordinator
USER 65532:65532
ENV NQUEENS_DATA=/data NQUEENS_HTTP=:8080
ENTRYPOINT ["/bin/coordinator"]
HEALTHCHECK --start-period=30s --interval=10s CMD ["/bin/coordinator", "health"]

FROM scratch AS worker
COPY --from=build /image/etc /etc
COPY --from=build /image/bin/worker /bin/worker
USER 65532:65532
ENV NQUEENS_HTTP=127.0.0.1:8080
ENTRYPOINT ["/bin/worker"]
HEALTHCHECK --start-period=30s --interval=10s CMD ["/bin/worker", "health"]

# The worker with OpenCL loads drivers, so it is not static. These stages are the last, because the classic builder builds all
# stages before the one that it is asked for.
FROM build AS build-opencl
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=
ARG COMMIT=
RUN mkdir /image/cache && echo libnvidia-opencl.so.1 >/image/nvidia.icd && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags opencl -trimpath -o /image/opencl/ \
    -ldflags "-s -w -X nqueens/pkg/cli.version=$VERSION -X nqueens/pkg/cli.commit=$COMMIT" ./worker

# A worker for GPUs, on a base with glibc. It loads the drivers that the files in /etc/OpenCL/vendors name. NVIDIA's container
# toolkit mounts its driver, but not always such a file. Drivers keep compiled kernels in /cache.
FROM ${OPENCL_BASE} AS worker-opencl
COPY --from=build-opencl /image/opencl/worker /bin/worker
COPY --from=build-opencl /image/nvidia.icd /etc/OpenCL/vendors/nvidia.icd
COPY --from=build-opencl --chown=65532:65532 /image/cache /cache
USER 65532:65532
ENV NQUEENS_HTTP=127.0.0.1:8080 NQUEENS_KERNEL=opencl CUDA_CACHE_PATH=/cache POCL_CACHE_DIR=/cache XDG_CACHE_HOME=/cache
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
VOLUME /cache
ENTRYPOINT ["/bin/worker"]
