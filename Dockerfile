# One static binary, certificate roots, and a shell for CI systems that run scripts in their job's image.
# It builds no code: the binaries lie in dist/linux-<arch>/ (`.ci/build-static` puts them there), the same ones that the
# release carries, so that neither architecture needs emulation.
ARG DEBIAN=debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716
ARG BUSYBOX=busybox:1.37.0-musl@sha256:5cec3fc171c87218698e85a52af7087de727372aae264a787b8112901a5b0092

FROM --platform=$BUILDPLATFORM $DEBIAN AS roots
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates

FROM $BUSYBOX
ARG TARGETARCH
LABEL org.opencontainers.image.source=https://github.com/precision-gate/precision-gate \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT"
COPY --from=roots /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --chmod=755 dist/linux-$TARGETARCH/precision-gate /usr/local/bin/precision-gate
# No USER: a container action writes to a workspace that belongs to root. No ENTRYPOINT: a GitLab job starts a shell.
CMD ["precision-gate", "--help"]
