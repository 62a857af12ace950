package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
)

func newService() *cobra.Command {
	c := &cobra.Command{Use: "service", Short: "Look after the hosted service of a host", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newServiceRekey())
	return c
}

func newServiceRekey() *cobra.Command {
	t, o := &target{}, &outputFlag{}
	c := &cobra.Command{
		Use:   "rekey",
		Short: "Seal the service's secrets with the newest host key",
		Long: `Seal everything that lies encrypted in the account data with the first key of
service.host_keys. To replace a host key: put a new key in front of the old one on every
host and restart them all, run this once, then take the old key out. A host that lacks a
key that something is still sealed with refuses to start.`,
		Example: `  authz service rekey`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			local, err := t.local()
			if err != nil {
				return err
			}
			var result api.RekeyResult
			if err := local.Host(c.Context(), "service.rekey", nil, &result); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), result, func(w io.Writer) {
				fmt.Fprintf(w, "%d secrets were sealed with key %s\n", result.Resealed, result.KeyID)
				if len(result.Retired) > 0 {
					fmt.Fprintf(w, "nothing is sealed any more with %s: it may go from service.host_keys\n", strings.Join(result.Retired, ", "))
				}
			})
		},
	}
	t.addSocket(c)
	o.add(c)
	return c
}
