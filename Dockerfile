# The images of the two programs. Each has one static binary and root certificates, and no shell. Build one with --target
# coordinator or --target worker; docker-compose.yml builds both. --target worker-opencl is a worker for GPUs: see
# docs/cluster.md. The build stage runs on the platform of the machine that builds, and compiles for the platform of the image.
ARG OPENCL_BASE=debian:bookworm-slim

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY proto ./proto
COPY pkg ./pkg
COPY coordinator ./coordinator
COPY worker ./worker
# VERSION is what the version command prints: git describe --always --dirty.
ARG VERSION=
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/root/.cache/go-build \
    mkdir -p /image/bin /image/data /image/etc/ssl/certs && chmod 700 /image/data && \
    { cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ || true; } && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -o /image/bin/ -ldflags "-s -w -X nqueens/pkg/cli.version=$VERSION" ./coordinator ./worker

# The worker with OpenCL loads drivers, so it is not static.
FROM build AS build-opencl
RUN --mount=type=cache,target=/root/.cache/go-build \
    mkdir /image/cache && echo libnvidia-opencl.so.1 >/image/nvidia.icd && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags opencl -trimpath -o /image/opencl/ -ldflags "-s -w -X nqueens/pkg/cli.version=$VERSION" ./worker

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

# A worker for GPUs, on a base with glibc. It loads the drivers that the files in /etc/OpenCL/vendors name. NVIDIA's container
# toolkit mounts its driver, but not always such a file. Drivers keep compiled kernels in /cache.
FROM ${OPENCL_BASE} AS worker-opencl
COPY --from=build-opencl /image/opencl/worker /bin/worker
COPY --from=build-opencl /image/nvidia.icd /etc/OpenCL/vendors/nvidia.icd
COPY --from=build-opencl --chown=65532:65532 /image/cache /cache
USER 65532:65532
ENV NQUEENS_HTTP=127.0.0.1:8080 NQUEENS_KERNEL=opencl:0 CUDA_CACHE_PATH=/cache POCL_CACHE_DIR=/cache XDG_CACHE_HOME=/cache
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
VOLUME /cache
ENTRYPOINT ["/bin/worker"]
