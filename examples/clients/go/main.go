// Clients asks a host through clients that are generated from its descriptions.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/authzhost/authz/examples/clients/go/generated/hosted"
	"github.com/authzhost/authz/examples/clients/go/generated/provider"
)

func main() {
	log.SetFlags(0)
	var err error
	switch ctx := context.Background(); {
	case len(os.Args) == 5 && os.Args[1] == "users":
		err = users(ctx, os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 5 && os.Args[1] == "check":
		err = check(ctx, os.Args[2], os.Args[3], os.Args[4])
	default:
		log.Fatal("usage: clients users http://HOST/api/v1 ORG KEY, or clients check http://HOST SECRET USER")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func bearer(token string) func(context.Context, *http.Request) error {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// users lists the people of an org, by the hosted API.
func users(ctx context.Context, base, org, key string) error {
	host, err := hosted.NewClientWithResponses(base, hosted.WithRequestEditorFn(bearer(key)))
	if err != nil {
		return err
	}
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

// check asks an application whether somebody may read a document.
func check(ctx context.Context, base, secret, user string) error {
	application, err := provider.NewClientWithResponses(base, provider.WithRequestEditorFn(bearer(secret)))
	if err != nil {
		return err
	}
	answer, err := application.CheckWithBodyWithResponse(ctx, "application/json", strings.NewReader(fmt.Sprintf(`{"principal":{"userId":%q},"key":"docs.files.read"}`, user)))
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", answer.Body)
	return nil
}
