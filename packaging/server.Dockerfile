# The image of the server. Build it in the folder of a release:
#
#   docker build -f packaging/server.Dockerfile --build-arg BUNDLE=outrider-0.1.0-linux-x64.tar.gz -t outrider-server:0.1.0 release
#
# BASE can be any Debian 12 or later. If it contains the packages already, the build needs no network.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS bundle
ARG BUNDLE
ADD ${BUNDLE} /unpacked/
RUN mv /unpacked/* /opt/outrider

FROM ${BASE}
RUN { command -v openssl && [ -e /etc/ssl/certs/ca-certificates.crt ]; } >/dev/null \
  || { apt-get update && apt-get install -y --no-install-recommends ca-certificates openssl && rm -rf /var/lib/apt/lists/*; }
RUN groupadd --system --gid 990 outrider \
  && useradd --system --uid 990 --gid 990 --home-dir /var/lib/outrider-server --shell /usr/sbin/nologin outrider \
  && install -d -m 0700 -o outrider -g outrider /var/lib/outrider-server
COPY --from=bundle /opt/outrider /opt/outrider
RUN ln -s /opt/outrider/bin/outrider /usr/local/bin/outrider
ENV OUTRIDER_DATA_DIR=/var/lib/outrider-server OUTRIDER_WORKERS=0 OUTRIDER_LOG_FORMAT=json
USER outrider
WORKDIR /var/lib/outrider-server
VOLUME /var/lib/outrider-server
EXPOSE 4000
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/outrider/bin/outrider"]
CMD ["serve"]
