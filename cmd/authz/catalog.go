package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/internal/catalogdiff"
	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

func newCatalog() *cobra.Command {
	c := &cobra.Command{Use: "catalog", Short: "The vocabulary of permissions: begin, check, publish and compare it", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newCatalogInit(), newCatalogLint(), newCatalogDocument(), newCatalogReload(), newCatalogPublish(), newCatalogDiff(), newCatalogVersions(), newCatalogShow())
	return c
}

// loadCatalog reads a declaration, or a catalog document as it is published.
// What was declared is empty for a document.
func loadCatalog(in io.Reader, path string) (declared catalog.Input, built *catalog.Catalog, err error) {
	var document struct{ FormatVersion *json.RawMessage }
	text, err := input.ReadFile(in, path)
	if err != nil {
		return declared, nil, err
	}
	if json.Unmarshal(text, &document) == nil && document.FormatVersion != nil {
		built, err = catalog.FromDocument(text, catalog.DocumentOptions{})
		return declared, built, err
	}
	switch {
	case path != "-":
		declared, err = catalog.Load(path)
	case json.Valid(text):
		declared, err = catalog.ParseJSON(text)
	default:
		declared, err = catalog.ParseYAML(text)
	}
	if err != nil {
		return declared, nil, usageError{err}
	}
	built, err = catalog.Build(declared)
	return declared, built, err
}

// lintCatalog is everything wrong with a file: what keeps it from being built, or
// what breaks the conventions.
func lintCatalog(in io.Reader, path string) (*catalog.Catalog, []suggestedIssue, error) {
	input, built, err := loadCatalog(in, path)
	var broken *authz.CatalogError
	switch {
	case errors.As(err, &broken):
		return nil, suggested(&input, broken.Issues), nil
	case err != nil:
		return nil, nil, err
	}
	return built, suggested(&input, input.Locate(catalog.Lint(built))), nil
}

// suggestedIssue is an issue with the name that was probably meant.
type suggestedIssue struct {
	authz.Issue
	DidYouMean string `json:"didYouMean,omitempty"`
}

func suggested(in *catalog.Input, issues []authz.Issue) []suggestedIssue {
	all := make([]suggestedIssue, len(issues))
	for i, issue := range issues {
		all[i] = suggestedIssue{issue, in.Suggest(issue)}
	}
	return all
}

func countIssues(issues []suggestedIssue) (errs, warnings int) {
	for _, i := range issues {
		if i.Severity == authz.SeverityError {
			errs++
		} else {
			warnings++
		}
	}
	return errs, warnings
}

// printIssues writes them as compilers do, so that editors find the place.
func printIssues(w io.Writer, file string, issues []suggestedIssue) {
	for _, i := range issues {
		if i.Line > 0 {
			fmt.Fprintf(w, "%s:%d:%d: ", file, i.Line, i.Column)
		}
		hint := ""
		if i.DidYouMean != "" && !strings.Contains(strings.ToLower(i.Message), "did you mean") {
			hint = "; did you mean " + spell.Quote(i.DidYouMean) + "?"
		}
		fmt.Fprintf(w, "%s: %s: %s%s\n", i.Severity, plain(i.Path), plain(i.Message), hint)
	}
}

func newCatalogLint() *cobra.Command {
	o := &outputFlag{}
	var strict bool
	c := &cobra.Command{
		Use:   "lint FILE",
		Short: "Say everything that is wrong with a catalog, without a host",
		Long: `Say everything that is wrong with a catalog (JSON or YAML): what would keep a host from
starting with it, and what breaks the conventions, each with its line and column and the name
that was probably meant. The exit code is 1 when there is an error, with --strict also when
there is a warning, and 2 when the file is no JSON or YAML.`,
		Example: `  authz catalog lint docs.catalog.yaml --strict`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			_, issues, err := lintCatalog(c.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			err = o.print(c.OutOrStdout(), map[string][]suggestedIssue{"issues": append([]suggestedIssue{}, issues...)}, func(w io.Writer) {
				printIssues(w, input.Name(args[0]), issues)
				if len(issues) == 0 {
					fmt.Fprintf(w, "%s has nothing wrong with it\n", input.Name(args[0]))
				}
			})
			errs, warnings := countIssues(issues)
			if err == nil && (errs > 0 || strict && warnings > 0) {
				err = fmt.Errorf("%s has %d errors and %d warnings", input.Name(args[0]), errs, warnings)
			}
			return err
		},
	}
	o.add(c)
	c.Flags().BoolVar(&strict, "strict", false, "fail for warnings too")
	c.ValidArgsFunction = catalogFiles
	return c
}

func catalogFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// publication is what catalog publish did; a version is 0 where nothing was
// published.
type publication struct {
	Version        int64 `json:"version"`
	Unchanged      bool  `json:"unchanged"`
	ImportsVersion int64 `json:"importsVersion,omitempty"`
}

func newCatalogPublish() *cobra.Command {
	a := &admin{}
	var expected int64
	c := &cobra.Command{
		Use:   "publish FILE",
		Short: "Publish a catalog, unless it is published already",
		Long: `Publish a catalog (JSON or YAML) as the next version, for peers, the dashboard and
'authz drift'; with imports, their manifest too. It is linted first: errors refuse it,
warnings are shown. When the newest version says the same nothing is done, so a
pipeline may run it every time. A running host goes on with its own file until restarted.

With --org it goes to the org's registry instead: with a publisher key, or with --app and a key
that may publish for that application. A document that is an older version again is refused
unless --expected-version names the head.`,
		Example: `  authz catalog publish docs.catalog.yaml
  authz catalog publish docs.catalog.yaml --org acme --url https://authz.example --token-file publisher.key
  authz catalog publish docs.catalog.yaml --url https://authz.example/apps/docs --token-file token --actor ci`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if a.org == "" && c.Flags().Changed("expected-version") {
				return usageError{errors.New("--expected-version goes with --org")}
			}
			built, issues, err := lintCatalog(c.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			printIssues(c.ErrOrStderr(), input.Name(args[0]), issues)
			if errs, _ := countIssues(issues); errs > 0 {
				return fmt.Errorf("%s was not published: it has %d errors", input.Name(args[0]), errs)
			}
			app, err := a.open(c.Context())
			if err != nil {
				return err
			}
			if app.hosted != nil {
				return a.register(c, app.hosted, built, expected)
			}
			if err := a.ofAnother(c, app, built); err != nil {
				return err
			}
			done, err := publish(c.Context(), app, built)
			if err != nil {
				return err
			}
			return a.printed(c, done, func(w io.Writer) {
				if done.Unchanged {
					fmt.Fprintf(w, "nothing to do: version %d says the same\n", done.Version)
					return
				}
				fmt.Fprintf(w, "published as version %d\n", done.Version)
				if done.ImportsVersion > 0 {
					fmt.Fprintf(w, "its imports are published as version %d\n", done.ImportsVersion)
				}
			})
		},
	}
	a.writes(c)
	a.addOrg(c)
	c.Flags().Int64Var(&expected, "expected-version", 0, "with --org: only when this is the newest version, 0 for none")
	c.ValidArgsFunction = catalogFiles
	return c
}

// register publishes in the org's registry, which keeps no imports: they are asked of
// the application.
func (a *admin) register(c *cobra.Command, h *hostedclient.Client, built *catalog.Catalog, expected int64) error {
	document, err := built.Document()
	if err != nil {
		return err
	}
	body := fields{"document": json.RawMessage(document)}
	if c.Flags().Changed("expected-version") {
		body["expectedVersion"] = expected
	}
	path := []string{"applications", h.App, "publish"}
	switch publisher := strings.HasPrefix(h.Token, secret.PrefixPublisher); {
	case publisher && h.App != "":
		return usageError{errors.New("a publisher key has its one namespace: leave --app out")}
	case publisher:
		h, path = h.OfNoOrg(), []string{"registry", "publish"}
	case h.App == "":
		return usageError{errors.New("name the application to publish for with --app, or use a publisher key")}
	}
	var done registry.Result
	if err := h.Ask(c.Context(), http.MethodPost, path, nil, body, &done); err != nil {
		return err
	}
	return a.printed(c, done, func(w io.Writer) {
		if done.Unchanged {
			fmt.Fprintf(w, "nothing to do: version %d of %s says the same\n", done.Version, plain(done.Namespace))
			return
		}
		fmt.Fprintf(w, "published as version %d of %s: %d keys added, %d revived, %d gone\n", done.Version, plain(done.Namespace),
			len(done.AddedKeys), len(done.RevivedKeys), len(done.TombstonedKeys))
	})
}

// ofAnother warns of a catalog whose namespace the application's own does not know:
// it is probably that of another application.
func (a *admin) ofAnother(c *cobra.Command, app *application, built *catalog.Catalog) error {
	if app.remote {
		return nil // the operation does not cross the network
	}
	var answer struct{ Reason string }
	if err := app.call(c.Context(), "validateKnownPattern", fields{"pattern": authz.SubtreePattern(built.Namespace())}, &answer); err != nil {
		return err
	}
	if answer.Reason != "" {
		fmt.Fprintf(c.ErrOrStderr(), "warning: the catalog that the host evaluates for %s knows nothing of the namespace %s: is it the right application?\n", app.where, spell.Quote(built.Namespace()))
	}
	return nil
}

// publish writes the document and the manifest where they differ from the newest.
func publish(ctx context.Context, app *application, built *catalog.Catalog) (done publication, err error) {
	document, err := built.Document()
	if err != nil {
		return done, err
	}
	manifest, err := built.Manifest()
	if err != nil {
		return done, err
	}
	head, err := published(ctx, app)
	if err != nil {
		return done, err
	}
	done.Unchanged = true
	if head != nil && catalogdiff.Same(head.Document, document) {
		done.Version = head.Version
	} else {
		var result struct{ Version int64 }
		if err := app.long(ctx, "publishCatalog", app.by(fields{"document": json.RawMessage(document)}), &result); err != nil {
			return done, err
		}
		done.Version, done.Unchanged = result.Version, false
	}
	if manifest == nil {
		return done, nil
	}
	var imports struct {
		Published *struct{ Manifest json.RawMessage }
	}
	if err := app.call(ctx, "getPublishedImports", nil, &imports); err != nil {
		return done, fmt.Errorf("the catalog is version %d, its imports are not published: %w", done.Version, err)
	}
	if imports.Published != nil && catalogdiff.Same(imports.Published.Manifest, manifest) {
		return done, nil
	}
	var result struct{ Version int64 }
	if err := app.long(ctx, "publishImports", app.by(fields{"manifest": json.RawMessage(manifest)}), &result); err != nil {
		return done, fmt.Errorf("the catalog is version %d, its imports are not published: %w", done.Version, err)
	}
	done.ImportsVersion, done.Unchanged = result.Version, false
	return done, nil
}

// published is the newest published catalog, nil when there is none.
func published(ctx context.Context, a *application) (*provider.PublishedCatalog, error) {
	var head struct{ Published *provider.PublishedCatalog }
	err := a.call(ctx, "getPublishedCatalog", nil, &head)
	return head.Published, err
}

func newCatalogVersions() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:     "versions",
		Short:   "List the published versions",
		Long:    `List the published versions of the catalog that the store retains.`,
		Example: `  authz catalog versions`,
		Args:    cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			l := a.listing(c.OutOrStdout(), "versions", "VERSION", "PUBLISHED")
			return streamed(c.Context(), app, "listCatalogVersions", nil, l, func(p catalog.Publication) [][]string {
				return [][]string{{strconv.FormatInt(p.Version, 10), words.Instant(p.PublishedAt)}}
			})
		}),
	}
	a.localOnly(c)
	return c
}

func newCatalogShow() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the newest published catalog",
		Example: `  authz catalog show
  authz catalog show -o json | jq .document > docs.document.json`,
		Args: cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			head, err := published(c.Context(), app)
			if err != nil {
				return err
			}
			if head == nil {
				return errUnpublished
			}
			built, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{})
			if err != nil {
				return err
			}
			return a.printed(c, head, func(w io.Writer) { printCatalog(w, head.Version, built) })
		}),
	}
	a.reads(c)
	return c
}

var errUnpublished = authz.Rejected(authz.CodeNotFound, "no catalog has been published — 'authz catalog publish FILE' publishes one")

func printCatalog(w io.Writer, version int64, c *catalog.Catalog) {
	fmt.Fprintf(w, "version %d of %s\n\n", version, strings.Join(c.Namespaces(), ", "))
	rows := [][]string{{"PERMISSION", "KIND", "GRANTABLE AT", "LABEL"}}
	for _, key := range c.Keys() {
		d, _ := c.Describe(key)
		rows = append(rows, []string{key, string(d.Leaf.Kind), strings.Join(append([]string{authz.Global}, d.Leaf.Scopes...), ", "), orDash(d.Leaf.Label)})
	}
	table(w, rows)
}
