package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

//go:embed starter.catalog.yaml
var starterCatalog string

const starterNamespace = "docs"

var namespaceSegment = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func newCatalogInit() *cobra.Command {
	o := &outputFlag{}
	var namespace string
	c := &cobra.Command{
		Use:   "init FILE",
		Short: "Write a catalog to begin with, with comments",
		Long: `Write a catalog to begin with: two types of resources, a handful of permissions, and what
else there is as examples to uncomment. FILE ends .yaml or .yml, - is standard output; a
file that is there is not overwritten. The namespace is the first part of the file's name,
or --namespace.`,
		Example: `  authz catalog init docs.catalog.yaml
  authz catalog init - --namespace billing`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			file := args[0]
			switch ext := strings.ToLower(filepath.Ext(file)); {
			case file == input.Stdin && o.format == "json":
				return usageError{errors.New("- writes the catalog to standard output: leave --output out")}
			case file == input.Stdin, ext == ".yaml", ext == ".yml":
			case ext == ".json":
				return usageError{fmt.Errorf("%s: JSON has no comments: name a .yaml file", plain(file))}
			default:
				return usageError{fmt.Errorf("%s: a declaration ends .yaml or .yml", plain(file))}
			}
			switch {
			case !c.Flags().Changed("namespace"):
				namespace = namespaceOf(file)
			case !namespaceSegment.MatchString(namespace) || namespace == authz.InternalNamespace:
				return usageError{fmt.Errorf("--namespace %s is none: lower-case letters, digits and _, beginning with a letter", spell.Quote(namespace))}
			}
			text := strings.ReplaceAll(starterCatalog, "NAMESPACE", namespace)
			if file == input.Stdin {
				_, err := io.WriteString(c.OutOrStdout(), text)
				return err
			}
			text = strings.ReplaceAll(text, " FILE ", " "+words.Shell(file)+" ")
			if err := createFile(file, text); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), map[string]string{"file": file, "namespace": namespace}, func(w io.Writer) {
				fmt.Fprintf(w, "%s declares the permissions of %s. Next:\n  authz catalog lint %s\n  authz catalog document %s\n",
					plain(file), namespace, words.Shell(file), words.Shell(file))
			})
		},
	}
	o.add(c)
	c.Flags().StringVar(&namespace, "namespace", "", "the first segment of every key (default: the first part of the file's name, else "+starterNamespace+")")
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return c
}

// namespaceOf is the first part of a file's name where that can be a namespace and says
// more than that the file is a catalog.
func namespaceOf(file string) string {
	first, _, _ := strings.Cut(filepath.Base(file), ".")
	if first == "catalog" || first == "authz" || first == authz.InternalNamespace || !namespaceSegment.MatchString(first) {
		return starterNamespace
	}
	return first
}

// createFile writes a new file, and no part of one.
func createFile(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usageError{fmt.Errorf("%s is there already, and is not overwritten: name another file, or move it away", plain(file))}
	}
	if err != nil {
		return usageError{err}
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
