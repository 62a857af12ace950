// Command testserver is a receiver of OTLP metrics for tests: gRPC by the published
// service and HTTP, in plaintext or TLS, that can be told to refuse, to be slow, to ask
// for a header, and to remember beyond its own end what it took. It prints where it
// listens, as JSON, and ends with its standard input. It is a module of its own because
// the service brings an HTTP gateway along.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

func main() {
	log.SetOutput(os.Stderr)
	certificate := flag.String("certificate", "", "PEM file; with it both speak TLS")
	key := flag.String("key", "", "PEM file")
	grpcAt := flag.String("grpc", anywhere, "host:port of the gRPC service")
	httpAt := flag.String("http", anywhere, "host:port of HTTP")
	journal := flag.String("journal", "", "a file that keeps what was taken, for the next process")
	flag.Parse()

	var config *tls.Config
	if *certificate != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		if err != nil {
			log.Fatal(err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	}
	r := newReceiver()
	if *journal != "" {
		if err := r.remember(*journal); err != nil {
			log.Fatal(err)
		}
	}
	options := []grpc.ServerOption{}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	server := grpc.NewServer(options...)
	collectorpb.RegisterMetricsServiceServer(server, r)
	overGRPC, overHTTP, control := listen(*grpcAt), listen(*httpAt), listen(anywhere)
	go func() { log.Fatal(server.Serve(overGRPC)) }()
	go func() {
		s := &http.Server{Handler: http.HandlerFunc(r.post), TLSConfig: config}
		if config != nil {
			log.Fatal(s.ServeTLS(overHTTP, "", ""))
		}
		log.Fatal(s.Serve(overHTTP))
	}()
	go func() { log.Fatal(http.Serve(control, r.control())) }()
	line, err := json.Marshal(map[string]string{"grpc": overGRPC.Addr().String(), "http": overHTTP.Addr().String(), "control": control.Addr().String()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

const anywhere = "127.0.0.1:0"

func listen(address string) net.Listener {
	l, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return l
}
