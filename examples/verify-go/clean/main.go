// Clean is a small service whose every handler asks before it acts. It passes
//
//	go vet -vettool=$(which authz-govet) ./clean
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"

	"example.com/notes/permissions"
)

func main() {
	host, err := provider.NewHosted(provider.HostedOptions{URL: os.Getenv("AUTHZ_URL"), Secret: os.Getenv("AUTHZ_SECRET")})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := client.New(client.Options{Provider: host, Catalog: permissions.Catalog})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8090", routes(guard)))
}

// user stands in for your login.
func user(r *http.Request) authz.Principal { return authz.UserPrincipal(r.Header.Get("X-User")) }
