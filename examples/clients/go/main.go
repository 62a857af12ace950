// Clients asks a host through clients that are generated from its descriptions.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/authzhost/authz/examples/clients/go/generated/hosted"
	"github.com/authzhost/authz/examples/clients/go/generated/provider"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: clients URL ORG KEY")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, base, org, key string) error {
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	host, err := hosted.NewClientWithResponses(base, hosted.WithRequestEditorFn(bearer))
	if err != nil {
		return err
	}
	_ = provider.WithRequestEditorFn(bearer) // the application's own API takes the same
	answer, err := host.GetOrgsOrgOrgUsersWithResponse(ctx, org, nil)
	if err != nil {
		return err
	}
	if answer.JSON200 == nil {
		return fmt.Errorf("the host answers %s: %s", answer.Status(), answer.Body)
	}
	for _, u := range answer.JSON200.Users {
		fmt.Println(u.UserId, u.Active)
	}
	return nil
}
