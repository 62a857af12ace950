package configured

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/sdk/plugin"
)

// shortest is the length below which a value is no secret that could be searched
// for: it would be found by chance.
const shortest = 6

// Given expects that no secret of the configuration comes out while use uses what
// the plugin serves, well and badly, and returns the errors that it met.
func Given[I any](ctx context.Context, r *runner.Record, c Configurer[I], use func(I) []error) {
	secrets := map[string]string{} // where each is found
	for _, s := range c.Settings() {
		if s.Secret {
			for _, value := range texts(c.Config()[s.Name]) {
				secrets[value] = s.Name
			}
		}
	}
	if len(secrets) == 0 {
		r.Skip(fmt.Sprintf("the configuration gives no secret setting of %d characters or more", shortest))
	}
	silent(ctx, r, c, c.Config(), secrets, use)
}

// Invented expects the same of secrets that are wrong: what refuses them must not
// be repeated with them in it.
func Invented[I any](ctx context.Context, r *runner.Record, c Configurer[I], use func(I) []error) {
	config, secrets := c.Config(), map[string]string{}
	for i, s := range c.Settings() {
		if !s.Secret {
			continue
		}
		value := fmt.Sprintf("hush-%d-8c1f07aa", i)
		switch s.Type {
		case plugin.TypeString:
			config = with(config, s.Name, value)
		case plugin.TypeStrings:
			config = with(config, s.Name, []any{value})
		default:
			continue
		}
		secrets[value] = s.Name
	}
	if len(secrets) == 0 {
		r.Skip("the plugin declares no secret setting of a text")
	}
	silent(ctx, r, c, config, secrets, use)
}

func silent[I any](ctx context.Context, r *runner.Record, c Configurer[I], config map[string]any, secrets map[string]string, use func(I) []error) {
	var errs []error
	served, err := c.Configure(ctx, config)
	r.Step("configure with secrets → %v", err != nil)
	if err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, use(served)...)
	}
	const afterthoughts = 200 * time.Millisecond // what is logged as an error is returned
	time.Sleep(afterthoughts)
	output := c.Output()
	for value, name := range secrets {
		for _, form := range forms(value) {
			for _, err := range errs {
				if err != nil && strings.Contains(err.Error(), form) {
					r.Fail(fmt.Sprintf("no error with the value of the secret setting %q", name), "an error of type "+fmt.Sprintf("%T", err)+" has it")
				}
			}
			if strings.Contains(output, form) {
				r.Fail(fmt.Sprintf("no output with the value of the secret setting %q", name), "it stands in what the plugin wrote or logged")
			}
		}
	}
	r.Step("%d errors and %d bytes of output searched", len(errs), len(output))
}

// texts are the texts of a setting's value that can be searched for, the password
// of an address included.
func texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		if u, err := url.Parse(v); err == nil && u.User != nil {
			if password, given := u.User.Password(); given {
				all = append(all, texts(password)...)
			}
		}
		if len(v) >= shortest {
			all = append(all, v)
		}
	case []any:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	case []string:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	}
	return all
}

// forms are the ways in which a text may stand in another.
func forms(value string) []string {
	all := []string{value, url.QueryEscape(value), url.PathEscape(value), strings.Trim(strings.TrimSpace(quotedJSON(value)), `"`)}
	// Base64 of a longer text that holds the value: what no neighbour changes.
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), value...))
		from, to := (before*8+5)/6, (before+len(value))*8/6
		if inner := encoded[from:to]; len(inner) >= shortest {
			all = append(all, inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
		}
	}
	return all
}

func quotedJSON(value string) string {
	b, err := json.Marshal(value)
	if err != nil {
		return value
	}
	return string(b)
}
