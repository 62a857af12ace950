// Command testserver is a SCIM service over TLS for tests: the protocol, its filters
// and schemas by elimity-com/scim, which shares nothing with the importer, and in
// front of it what services do to their clients (faults.go). It prints its base URL,
// and ends with its standard input.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	world := flag.String("world", "", "the directory, a file of JSON")
	ca := flag.String("ca", "", "where to write the certificate to trust")
	listen := flag.String("listen", "127.0.0.1:0", "where to listen; 0 is a port of the system's choice")
	flag.Parse()
	content, err := os.ReadFile(*world)
	if err != nil {
		log.Fatal(err)
	}
	s := &front{stats: stats{Authorizations: map[string]int{}}}
	if err := json.Unmarshal(content, &s.world); err != nil {
		log.Fatal(err)
	}
	if s.scim, err = serviceOf(s); err != nil {
		log.Fatal(err)
	}
	certificate, err := selfSigned(*ca)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Shutdown(context.Background())
		os.Exit(0)
	}()
	fmt.Printf("https://%s/v2\n", listener.Addr())
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	select {} // until the shutdown has ended the process
}

func selfSigned(path string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "SCIM test service"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(path, block, 0o600)
}
