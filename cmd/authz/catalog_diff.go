package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/catalogdiff"
)

// catalogDiff is how a file differs from the newest published catalog.
type catalogDiff struct {
	Version int64                `json:"version"` // 0: nothing was published
	Changes []catalogdiff.Change `json:"changes"`
}

func newCatalogDiff() *cobra.Command {
	a := &admin{}
	var exit bool
	c := &cobra.Command{
		Use:   "diff FILE",
		Short: "Compare a catalog with the newest published one",
		Long: `Compare a catalog (JSON or YAML) with the newest published one: permissions, groups, scope
types, and what else changed. 'authz drift' says afterwards what
publishing it does to wildcards in use.`,
		Example: `  authz catalog diff docs.catalog.yaml
  authz catalog diff docs.catalog.yaml --exit-code || echo 'the catalog is not published'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, built, err := loadCatalog(c.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			document, err := built.Document()
			if err != nil {
				return err
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			head, err := published(c.Context(), app)
			if err != nil {
				return err
			}
			diff, before := catalogDiff{}, json.RawMessage("{}")
			if head != nil {
				diff.Version, before = head.Version, head.Document
			}
			if diff.Changes, err = catalogdiff.Documents(before, document); err != nil {
				return err
			}
			if err := a.printed(c, diff, func(w io.Writer) { printDiff(w, diff) }); err != nil {
				return err
			}
			if exit && len(diff.Changes) > 0 {
				return errDenied
			}
			return nil
		},
	}
	a.reads(c)
	c.Flags().BoolVar(&exit, "exit-code", false, fmt.Sprintf("exit with %d when they differ", exitDenied))
	c.ValidArgsFunction = catalogFiles
	return c
}

func printDiff(w io.Writer, d catalogDiff) {
	if len(d.Changes) == 0 {
		fmt.Fprintf(w, "no difference from version %d\n", d.Version)
		return
	}
	var b bytes.Buffer
	for _, c := range d.Changes {
		sign := map[string]string{"added": "+", "removed": "-", "changed": "~"}[c.Change]
		fmt.Fprintf(&b, "%s %s %s", sign, c.Kind, c.Name)
		if len(c.Members) > 0 {
			fmt.Fprintf(&b, ": %s", strings.Join(c.Members, ", "))
		}
		b.WriteByte('\n')
	}
	_, _ = w.Write(b.Bytes()) // as table does
}
