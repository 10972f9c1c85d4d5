# The images of the two commands, each with one static binary and no shell, and of the NATS server.
# Build one with --target coordinator, worker or nats; docker-compose.yml builds all.
#
# A new volume gets the owner and the mode of the folder where it is mounted first. So nothing has to
# run as root: 65532 is the user of the commands, 65533 that of the server. The group of both is 65532,
# and the key of the server's certificate is readable for the group.
#
# The build stage runs on the machine that builds, and compiles for the platforms of the images:
# docker buildx build --platform linux/amd64,linux/arm64 emulates nothing.
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
# Folders of the images. What a coordinator, a server and workers need of the keys is in folders that can be
# volumes of their own.
WORKDIR /folders
RUN mkdir -p coordinator/data coordinator/keys/coordinator coordinator/keys/server coordinator/keys/worker worker/identity nats/data && \
    chmod -R go= . && chmod 750 coordinator/keys/server

# NQUEENS_HTTP serves health checks inside the container; coordinator health and worker health
# query it.
FROM scratch AS coordinator
COPY --from=build /image/bin/coordinator /bin/coordinator
COPY --from=build --chown=65532:65532 /folders/coordinator /
USER 65532:65532
ENV NQUEENS_DATA=/data NQUEENS_HTTP=127.0.0.1:8080
ENTRYPOINT ["/bin/coordinator"]

# A worker keeps its key in /identity.
FROM scratch AS worker
COPY --from=build /image/bin/worker /bin/worker
COPY --from=build --chown=65532:65532 /folders/worker /
USER 65532:65532
ENV NQUEENS_IDENTITY=/identity/worker.nkey NQUEENS_HTTP=127.0.0.1:8080
VOLUME /identity
ENTRYPOINT ["/bin/worker"]

# The server as it is published, but not as root.
FROM nats:2.15.2-alpine AS nats
COPY --from=build --chown=65533:65532 /folders/nats /
USER 65533:65532
