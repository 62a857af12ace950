package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
)

func newLinked() *cobra.Command {
	c := &cobra.Command{Use: "application", Short: "Applications of the org: register, link, probe, federate", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newLinkedList(), newLinkedShow(), newLinkedRegister(), newLinkedLink(), newLinkedProbe(), newLinkedFederate(), newLinkedDemote(), newLinkedSync(), newLinkedUnlink(), newLinkedDelete())
	return c
}

type applicationResult struct {
	Application applications.Application `json:"application"`
}

func (a *admin) applicationIDs() cobra.CompletionFunc {
	return offers(a, "applications", "applications", func(l applications.Application) string { return described(l.ID, l.Name) })
}

func newLinkedList() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the applications that you may see",
		Example: `  authz application list --state linked`,
		Args:    cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			l := a.listing(c.OutOrStdout(), "applications", "ID", "NAME", "NAMESPACES", "STATE", "AT", "HEALTH", "FEDERATED", "LAST SYNC", "UNDER WAY")
			return all(c, h, []string{"applications"}, given(c, map[string]string{"state": "state"}), 0, l, func(l applications.Application) []string {
				return []string{l.ID, l.Name, strings.Join(l.Namespaces, ", "), string(l.State), textOr(l.RelayURL), healthText(l.Health),
					instantOr(l.FederatedAt, "-"), instantOr(l.LastSyncAt, "-"), underWay(l.Operation)}
			})
		}),
	}
	a.hostedOnly(c)
	choice(c, "state", "only those in this state", []string{"registered", "linked", "federated"})
	return c
}

// underWay is a move in a cell; show tells more of it.
func underWay(o *applications.Operation) string {
	if o == nil {
		return "-"
	}
	text := o.Kind + ", " + o.Step
	if o.Trouble != "" {
		text += ": " + o.Trouble
	}
	return text
}

func healthText(h *applications.Health) string {
	if h == nil {
		return "-"
	}
	if h.Detail != nil && *h.Detail != "" {
		return h.Status + ": " + *h.Detail
	}
	return h.Status
}

// askApplication sends one request that answers an application, and prints it.
func (a *admin) askApplication(c *cobra.Command, method string, path []string, body any) error {
	h, err := a.service(c)
	if err != nil {
		return err
	}
	var result applicationResult
	if err := h.Ask(c.Context(), method, append([]string{"applications"}, path...), nil, body, &result); err != nil {
		return err
	}
	return a.printed(c, result, func(w io.Writer) { printApplication(w, result.Application) })
}

func printApplication(w io.Writer, l applications.Application) {
	rows := [][]string{
		{"application", l.ID}, {"name", l.Name}, {"namespaces", strings.Join(l.Namespaces, ", ")}, {"state", string(l.State)},
		{"at", textOr(l.RelayURL)}, {"secret", textOr(l.SecretHint)}, {"audit retention", strconv.FormatBool(l.AuditOptIn)}, {"health", healthText(l.Health)},
	}
	if l.FederatedAt != nil {
		rows = append(rows, []string{"federated since", instantOr(l.FederatedAt, "-")}, []string{"last sync", instantOr(l.LastSyncAt, "none yet")})
	}
	if l.Operation != nil {
		rows = append(rows, []string{"under way", operationText(*l.Operation) + ", since " + words.Instant(l.Operation.StartedAt)})
	}
	for _, p := range l.Registry {
		published := "nothing is published"
		if p.Version != nil {
			published = fmt.Sprintf("version %d, %s", *p.Version, instantOr(p.PublishedAt, "-"))
		}
		rows = append(rows, []string{"registry " + p.Namespace, published})
	}
	table(w, rows)
}

func newLinkedShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "show APP",
		Short:   "Show one application with its last health",
		Example: `  authz application show docs`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askApplication(c, http.MethodGet, args, nil)
		},
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	return c
}

func newLinkedRegister() *cobra.Command {
	a := &admin{}
	var name string
	var namespaces []string
	c := &cobra.Command{
		Use:   "register APP --namespace NAMESPACE",
		Short: "Make an application known to the org",
		Long: `Make an application known to the org. From then on its namespaces are its alone; the
first is the primary one. 'authz application link' is the next step.`,
		Example: `  authz application register docs --name Docs --namespace docs`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if name == "" {
				name = args[0]
			}
			return a.askApplication(c, http.MethodPost, nil, fields{"id": args[0], "name": name, "namespaces": namespaces})
		},
	}
	a.hostedOnly(c)
	c.Flags().StringVar(&name, "name", "", "what people call it (default: its id)")
	c.Flags().StringArrayVar(&namespaces, "namespace", nil, "a namespace of its permissions; repeat it for more (required)")
	needs(c, "namespace")
	return c
}

func newLinkedLink() *cobra.Command {
	a := &admin{}
	var file string
	c := &cobra.Command{
		Use:   "link APP URL",
		Short: "Link an application; its provider secret is shown this once",
		Long: `Link an application at the URL of its provider API, or as local:APP, its own id, when it runs
in the same host. Standard output gets the provider secret and nothing else: put it into the application's
configuration (applications.<name>.provider). The first that is linked is the org's root.
Linking again makes a new secret and ends the old one.`,
		Example: `  authz application link docs https://docs.example/apps/docs --save provider.secret
  authz application link acme local:acme`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.told(c, file, func(h *hostedclient.Client) (string, any, string, error) {
				var linked struct {
					applicationResult
					ProviderSecret *string `json:"providerSecret"`
				}
				err := h.Ask(c.Context(), http.MethodPost, []string{"applications", args[0], "link"}, nil, fields{"relayUrl": args[1]}, &linked)
				secret := ""
				if linked.ProviderSecret != nil {
					secret = *linked.ProviderSecret
				}
				return secret, linked, fmt.Sprintf("%s is %s at %s", linked.Application.ID, linked.Application.State, textOr(linked.Application.RelayURL)), err
			})
		},
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	saveFlag(c, &file)
	return c
}

func newLinkedProbe() *cobra.Command {
	a := &admin{}
	var exit bool
	c := &cobra.Command{
		Use:     "probe APP",
		Short:   "Ask an application now how it is",
		Example: `  authz application probe docs --exit-code`,
		Args:    cobra.ExactArgs(1),
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, args []string) error {
			var result struct {
				Health applications.Health `json:"health"`
			}
			if err := h.Ask(c.Context(), http.MethodPost, []string{"applications", args[0], "probe"}, nil, fields{}, &result); err != nil {
				return err
			}
			if err := a.printed(c, result, func(w io.Writer) { fmt.Fprintf(w, "%s is %s\n", args[0], plain(healthText(&result.Health))) }); err != nil {
				return err
			}
			if exit && result.Health.Status != "healthy" {
				return errDenied
			}
			return nil
		}),
	}
	c.ValidArgsFunction = first(a.applicationIDs())
	a.hostedOnly(c)
	c.Flags().BoolVar(&exit, "exit-code", false, fmt.Sprintf("exit with %d when it is not healthy", exitDenied))
	return c
}

func newLinkedUnlink() *cobra.Command {
	return newHostedEnd("unlink APP", "End a link and forget its secret",
		`End a link and forget its secret. The application works on with everything it holds; here its
data, and the org's when it was the root, is out of reach until it is linked again.`,
		`  authz application unlink docs --yes`, (*admin).applicationIDs,
		func(id string) hostedEnd {
			return hostedEnd{method: http.MethodPost, path: []string{"applications", id, "unlink"}, question: "Unlink " + id + " and forget its secret?", done: id + " is unlinked"}
		})
}

func newLinkedDelete() *cobra.Command {
	return newHostedEnd("delete APP", "Delete an application's entry",
		`Delete an application's entry, which unlinks it and frees its namespaces. The application itself
works on; what was retained of its audit log stays.`,
		`  authz application delete docs --yes`, (*admin).applicationIDs,
		func(id string) hostedEnd {
			return hostedEnd{method: http.MethodDelete, path: []string{"applications", id}, question: "Delete the entry of " + id + ", its link and its claim to its namespaces?", done: id + " is deleted"}
		})
}
