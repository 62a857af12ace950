package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
)

func newCatalogReload() *cobra.Command {
	t, o := &target{}, &outputFlag{}
	var actor string
	c := &cobra.Command{
		Use:   "reload",
		Short: "Have a running host read its catalog files again",
		Long: `Have the host of this machine read the catalog files of its applications again, or that of
--app. Permissions, groups and scope types that were added come into force at once, and so do
labels and descriptions. Anything else is refused with the reason, and the catalog stays as it
is: restart the host. The exit code is 1 when one is refused. What is in force is recorded in
the application's audit log. SIGHUP does the same.

Wildcards that are granted already confer what was added below them: 'authz drift' tells of
published catalogs, so publish the file too.`,
		Example: `  authz catalog reload
  authz catalog lint docs.catalog.yaml && authz catalog reload --app docs && authz catalog publish docs.catalog.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			asked := fields{}
			if t.app != "" {
				asked["app"] = t.app
			}
			if actor != "" {
				asked["provenance"] = authz.AdminProvenance(actor)
			}
			var result struct {
				Applications []api.CatalogReload `json:"applications"`
			}
			if err := askHost(c.Context(), t, o, "catalog.reload", asked, &result); err != nil {
				return err
			}
			refused := 0
			for _, r := range result.Applications {
				if r.Refused != "" {
					refused++
				}
			}
			err := o.print(c.OutOrStdout(), result, func(w io.Writer) {
				for _, r := range result.Applications {
					printReload(w, r)
				}
			})
			if err == nil && refused > 0 {
				err = fmt.Errorf("%d of %d catalogs stay as they are", refused, len(result.Applications))
			}
			return err
		},
	}
	t.addSocket(c)
	t.addApp(c)
	o.add(c)
	c.Flags().StringVar(&actor, "actor", "", "who does it, for the audit log (default local: and your login)")
	return c
}

func printReload(w io.Writer, r api.CatalogReload) {
	switch {
	case r.Refused != "":
		fmt.Fprintf(w, "%s: refused: %s\n", plain(r.Application), plain(r.Refused))
	case len(r.Changes) == 0:
		fmt.Fprintf(w, "%s: %s says what it said\n", plain(r.Application), plain(r.File))
	default:
		fmt.Fprintf(w, "%s: in force from now on:\n", plain(r.Application))
		for _, change := range r.Changes {
			fmt.Fprintf(w, "  %s\n", plain(change.String()))
		}
	}
}
