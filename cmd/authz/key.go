package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/words"
)

func newKey() *cobra.Command {
	c := &cobra.Command{Use: "key", Short: "API keys of the org", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newKeyList(), newKeyCreate(), newKeyRotate(), newKeyRevoke())
	return c
}

// keyResult tells a secret once.
type keyResult struct {
	APIKey account.APIKey `json:"apiKey"`
	Secret string         `json:"secret"`
}

func keyIs(k account.APIKey) string {
	switch {
	case k.ServiceID != "":
		return "service:" + k.ServiceID
	case k.Namespace != "":
		return "namespace " + k.Namespace
	}
	return "user:" + k.UserID
}

func keyCells(k account.APIKey) []string {
	state := "live"
	switch now := time.Now().UnixMilli(); {
	case k.RevokedAt != nil:
		state = "revoked"
	case k.ExpiresAt != nil && *k.ExpiresAt <= now:
		state = "expired"
	case k.PreviousValidUntil != nil && *k.PreviousValidUntil > now:
		state = "live, the old one until " + words.Instant(*k.PreviousValidUntil)
	}
	return []string{k.ID, k.Kind, k.Name, keyIs(k), state, instantOr(k.ExpiresAt, "never"), instantOr(k.LastUsedAt, "never"), k.Hint}
}

func (a *admin) keyIDs() cobra.CompletionFunc {
	return offers(a, "api-keys", "apiKeys", func(k account.APIKey) string { return described(k.ID, k.Kind+" "+k.Name) })
}

func newKeyList() *cobra.Command {
	a := &admin{}
	var limit int
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the keys, without their secrets",
		Example: `  authz key list --revoked=false`,
		Args:    cobra.NoArgs,
		RunE: a.served(func(c *cobra.Command, h *hostedclient.Client, _ []string) error {
			l := a.listing(c.OutOrStdout(), "apiKeys", "ID", "KIND", "NAME", "ACTS AS", "STATE", "EXPIRES", "LAST USED", "LOOKS LIKE")
			return all(c, h, []string{"api-keys"}, given(c, map[string]string{"kind": "kind", "revoked": "revoked"}), limit, l, keyCells)
		}),
	}
	a.hostedOnly(c)
	choice(c, "kind", "only keys of this kind", []string{"admin", "principal", "publisher"})
	c.Flags().Bool("revoked", false, "only revoked ones, with =false only others (default: all)")
	c.Flags().IntVar(&limit, "limit", 0, "at most this many (default: all)")
	return c
}

// told prints a secret once: alone on standard output, or into a file that is made
// before the key is.
func (a *admin) told(c *cobra.Command, file string, ask func(*hostedclient.Client) (secret string, shown any, text string, err error)) error {
	h, err := a.service(c)
	if err != nil {
		return err
	}
	var to io.Writer = c.OutOrStdout()
	if file != "" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		to = f
	}
	secret, shown, text, err := ask(h)
	if err != nil {
		if file != "" {
			err = errors.Join(err, os.Remove(file))
		}
		return err
	}
	switch {
	case a.format == "json" && file == "":
		return a.printed(c, shown, nil)
	case secret != "":
		if _, err := fmt.Fprintln(to, plain(secret)); err != nil {
			return fmt.Errorf("the secret could not be written: %w", err)
		}
		if file == "" {
			file = "shown here once"
		} else {
			file = "in " + file
		}
		text += "; its secret is " + file
	}
	fmt.Fprintln(c.ErrOrStderr(), plain(text))
	return nil
}

func saveFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "save", "", "put the secret into this new file, for you alone to read, instead of showing it")
	_ = c.MarkFlagFilename("save")
}

func newKeyCreate() *cobra.Command {
	a := &admin{}
	var file, expires string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key; its secret is shown this once",
		Long: `Make a key of your own seat (an admin key). With --service it is the key of a machine subject,
whose grants name service:ID. With --namespace it publishes catalogs of that namespace and does
nothing else. Standard output gets the secret and nothing else. Admin keys end after 90 days
unless --expires says otherwise, the others never.`,
		Example: `  authz key create laptop --expires 30d
  authz key create ci --service ci --save ci.key
  authz key create docs-deploy --namespace docs`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in := given(c, map[string]string{"service": "serviceId", "namespace": "namespace"})
			in["name"], in["kind"] = args[0], "admin"
			if _, ok := in["serviceId"]; ok {
				in["kind"] = "principal"
			}
			if _, ok := in["namespace"]; ok {
				if in["kind"] != "admin" {
					return usageError{errors.New("a key is either of a --service or of a --namespace")}
				}
				in["kind"] = "publisher"
			}
			if expires != "" {
				ms, err := parseInstant(expires, time.Now(), 1)
				if err != nil {
					return err
				}
				in["expiresAt"] = ms
			}
			return a.told(c, file, func(h *hostedclient.Client) (string, any, string, error) {
				var made keyResult
				err := h.Ask(c.Context(), http.MethodPost, []string{"api-keys"}, nil, in, &made)
				return made.Secret, made, fmt.Sprintf("%s key %s acts as %s, expires %s", made.APIKey.Kind, made.APIKey.ID, keyIs(made.APIKey), instantOr(made.APIKey.ExpiresAt, "never")), err
			})
		},
	}
	a.hostedOnly(c)
	c.Flags().String("service", "", "a principal key of this service")
	c.Flags().String("namespace", "", "a publisher key of this namespace")
	c.Flags().StringVar(&expires, "expires", "", "when it ends: "+instantHelp)
	saveFlag(c, &file)
	return c
}

func newKeyRotate() *cobra.Command {
	a := &admin{}
	var file string
	var overlap time.Duration
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Give a key another secret; it is shown this once",
		Long: `Give a key another secret. The old one works on for --overlap, so that whoever uses it has the
time to change. A key that 'authz login' keeps is changed there too.`,
		Example: `  authz key rotate k4xwq2m7ab3cdefg --overlap 1h --save ci.key`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.told(c, file, func(h *hostedclient.Client) (string, any, string, error) {
				var made keyResult
				if err := h.Ask(c.Context(), http.MethodPost, []string{"api-keys", args[0], "rotate"}, nil, fields{"overlapMs": overlap.Milliseconds()}, &made); err != nil {
					return "", nil, "", err
				}
				text := fmt.Sprintf("%s key %s has another secret, the old one works for %s", made.APIKey.Kind, made.APIKey.ID, overlap)
				kept, err := renewLogin(h, made)
				if err != nil {
					text += "; your login still has the old one: " + err.Error()
				} else if kept {
					text += "; your login has the new one"
				}
				return made.Secret, made, text, nil
			})
		},
	}
	c.ValidArgsFunction = first(a.keyIDs())
	a.hostedOnly(c)
	c.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old secret works on, up to 168h; 0s ends it at once")
	saveFlag(c, &file)
	return c
}

// renewLogin gives the login that keeps a rotated key its new secret.
func renewLogin(h *hostedclient.Client, made keyResult) (kept bool, err error) {
	saved, err := readLogins()
	if err != nil {
		return false, err
	}
	ours := func(l savedLogin) bool {
		_, id, _ := secret.ParseToken(l.Token)
		return id == made.APIKey.ID && l.URL == h.URL && l.Org == h.Org
	}
	for _, l := range saved.Logins {
		kept = kept || ours(l)
	}
	if !kept {
		return false, nil
	}
	return true, changeLogins(func(s *savedLogins) {
		for i, l := range s.Logins {
			if ours(l) {
				s.Logins[i].Token = made.Secret
			}
		}
	})
}

func newKeyRevoke() *cobra.Command {
	return newHostedEnd("revoke ID", "End a key at once and for good", "End a key at once and for good. Revoking it again changes nothing.",
		`  authz key revoke k4xwq2m7ab3cdefg`, (*admin).keyIDs,
		func(id string) hostedEnd {
			return hostedEnd{method: http.MethodDelete, path: []string{"api-keys", id}, done: "key " + id + " is revoked"}
		})
}
