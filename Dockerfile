# The README's two commands on a fresh Debian 12: docker build -t ufp4 . && docker run --rm ufp4
FROM debian:12
COPY . /ufp4
WORKDIR /ufp4
RUN ./ufp4 demo
CMD ["./ufp4", "test"]
