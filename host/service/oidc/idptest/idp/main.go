// Command idp is an OpenID provider for tests, on ory/fosite: authorization codes
// with PKCE, discovery, published keys. Everybody who comes is signed in at once as
// the subject that the test set.
//
// It prints its issuer on standard output when it is ready and ends when its
// standard input does. POST /control changes how it behaves, so that a test can ask
// for the tokens of a provider that is wrong, slow or lying; GET /control counts. It
// is a module of its own because nothing that the product runs on needs fosite.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	redirect := flag.String("redirect", "", "the redirect URI of the client")
	client := flag.String("client", "authz", "its id")
	secret := flag.String("secret", "", "its secret; none is a public client")
	flag.Parse()
	if err := run(*client, *secret, *redirect); err != nil {
		fmt.Fprintln(os.Stderr, "idp:", err)
		os.Exit(1)
	}
}

func run(client, secret, redirect string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	issuer := "http://" + l.Addr().String()
	p, err := newProvider(issuer, client, secret, redirect)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: p.routes(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	fmt.Println(issuer)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
