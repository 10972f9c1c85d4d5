# The images of the two commands: each has one static binary and no shell. Build one with
# --target coordinator or --target worker; docker-compose.yml builds both.
FROM golang:1.26.8-bookworm AS build
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
RUN --mount=type=cache,target=/root/.cache/go-build \
    mkdir -p /image/bin /image/data && CGO_ENABLED=0 go build -trimpath -o /image/bin/ -ldflags "-s -w \
      -X nqueens/pkg/cli.version=$VERSION -X nqueens/pkg/cli.commit=$COMMIT -X nqueens/pkg/cli.date=$DATE" \
      ./coordinator ./worker

# NQUEENS_HTTP serves health checks inside the container; coordinator health and worker health
# query it.
FROM scratch AS coordinator
COPY --from=build /image/bin/coordinator /bin/coordinator
# A new volume at /data gets the owner of this directory.
COPY --from=build --chown=65532:65532 /image/data /data
USER 65532:65532
ENV NQUEENS_DATA=/data NQUEENS_HTTP=127.0.0.1:8080
ENTRYPOINT ["/bin/coordinator"]

FROM scratch AS worker
COPY --from=build /image/bin/worker /bin/worker
USER 65532:65532
ENV NQUEENS_HTTP=127.0.0.1:8080
ENTRYPOINT ["/bin/worker"]
