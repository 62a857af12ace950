package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/config"
)

// addConfig adds --config to a command that asks a host, to say which one.
func (t *target) addConfig(c *cobra.Command, tells string) {
	c.Flags().StringVarP(&t.config, "config", "c", os.Getenv("AUTHZ_CONFIG"), tells+" (default: $AUTHZ_CONFIG)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	t.configGiven = func() bool { return c.Flags().Changed("config") }
	after(c, func() error {
		if !t.configGiven() {
			return nil
		}
		for name, other := range map[string]string{"--socket": t.socket, "--url": t.url} {
			if other != "" && !t.offline {
				return usageError{fmt.Errorf("--config and %s both say which host is asked: give one of them", name)}
			}
		}
		return nil
	})
}

// configuration reads what --config names. Whether it would start a host is not the
// question: its address is.
func (t *target) configuration() (*config.Config, error) {
	cfg, err := config.Load(config.Source{Path: t.config, Environ: os.Environ(), Overrides: map[string]any{"insecure_permissions": config.InsecureAllow}})
	if cfg == nil || cfg.Socket == "" {
		return nil, err
	}
	return cfg, nil
}

// base is the hosted API that is named: by --url or by --config; "" leaves it to the
// login. The environment says what is meant by nothing else only.
func (t *target) base() (string, error) {
	if t.url != "" || t.configGiven == nil || !t.configGiven() {
		return normalURL(t.url), nil
	}
	return t.publicURL()
}

// publicURL is where the configured host says that its hosted API is.
func (t *target) publicURL() (string, error) {
	cfg, err := t.configuration()
	if err != nil {
		return "", err
	}
	scheme := "http://"
	if cfg.TLS.Cert != "" {
		scheme = "https://"
	}
	if cfg.Service == nil {
		return "", usageError{fmt.Errorf("%s has no section service: its host serves no hosted API", t.config)}
	}
	return normalURL(cmp.Or(cfg.Service.PublicURL, scheme+cfg.Listen)), nil
}

// normalURL is the address of a host as logins remember it.
func normalURL(given string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(given, "/"), "/api/v1"), "/")
}
