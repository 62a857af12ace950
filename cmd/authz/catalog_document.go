package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/catalogdoc"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/sdk/authz"
)

func newCatalogDocument() *cobra.Command {
	o := &outputFlag{}
	var access string
	var internal bool
	c := &cobra.Command{
		Use:   "document FILE",
		Short: "Write a reference of a catalog in Markdown, without a host",
		Long: `Write a reference of a catalog (JSON or YAML): its scope types, its permissions by group, its
imports and its separation of duties. With --access, a file of 'authz apply', also its roles
with the permissions that each holds.`,
		Example: `  authz catalog document docs.catalog.yaml > permissions.md
  authz catalog document docs.catalog.yaml --access access.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if access == input.Stdin && args[0] == input.Stdin {
				return usageError{errors.New("only one of the files can be standard input")}
			}
			declared, built, err := loadCatalog(c.InOrStdin(), args[0])
			var broken *authz.CatalogError
			if errors.As(err, &broken) {
				printIssues(c.ErrOrStderr(), input.Name(args[0]), suggested(&declared, declared.Locate(broken.Issues)))
				return fmt.Errorf("%s has %d errors", input.Name(args[0]), len(broken.Issues))
			}
			if err != nil {
				return err
			}
			var roles *apply.File
			if c.Flags().Changed("access") {
				if roles, err = readAccess(c.InOrStdin(), access); err != nil {
					return err
				}
			}
			reference := catalogdoc.Of(built, roles, internal)
			for _, role := range reference.Roles {
				for _, pattern := range role.Unknown {
					fmt.Fprintf(c.ErrOrStderr(), "warning: role %s: %s\n", plain(role.ID), plain(built.UnknownPermission(pattern, authz.ExpectedPattern).Error()))
				}
			}
			var failed error
			err = o.print(c.OutOrStdout(), reference, func(w io.Writer) { failed = reference.Markdown(w) })
			return errors.Join(err, failed)
		},
	}
	o.add(c)
	c.Flags().StringVar(&access, "access", "", "a file of 'authz apply', whose roles are told too")
	c.Flags().BoolVar(&internal, "internal", false, "tell the permissions of authz's own administration too")
	_ = c.MarkFlagFilename("access", "yaml", "yml", "json")
	c.ValidArgsFunction = catalogFiles
	return c
}
