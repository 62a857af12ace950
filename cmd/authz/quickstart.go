package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/configs"
	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/internal/adminsocket"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const (
	// dataDir is where a quickstart keeps everything that it makes.
	dataDir    = ".authz"
	sampleApp  = "acme"
	socketName = "authz.sock"
	ownConfig  = "authz.yaml"
	ownCatalog = sampleApp + ".catalog.yaml" // as configs.Quickstart names it
	ownSecret  = sampleApp + ".secret"       // likewise
)

// quickstart is one run of the command.
type quickstart struct {
	configFlags
	dir               string
	empty, reset, yes bool

	out, errs io.Writer
	in        io.Reader
}

func newQuickstart() *cobra.Command {
	q := &quickstart{}
	c := &cobra.Command{
		Use:   "quickstart",
		Short: "Start a host with a sample in it and ask it a question",
		Long: `Start a host with the sample "acme": 1,200 people in 60 groups, 30 roles, 8,000 grants and
a tree of 5,000 folders and documents. It needs no other file than this program: below ./` + dataDir + ` it
makes a configuration, a secret and a SQLite database, starts the host and its storage driver,
publishes the sample's catalog, loads the sample, prints a question to paste and its answer,
and serves until you stop it.

Run again, it continues with what is there, however the last run ended. While a quickstart of
this directory is running, a second one loads into it what is missing.`,
		Example: `  authz quickstart
  authz quickstart --empty --listen 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q.out, q.errs, q.in = c.OutOrStdout(), c.ErrOrStderr(), c.InOrStdin()
			return q.run(c.Context())
		},
	}
	q.add(c, "")
	c.Flags().Lookup("config").Usage = "another configuration than " + filepath.Join(dataDir, ownConfig) + "; it needs an application " + sampleApp
	c.Flags().StringVar(&q.dir, "data-dir", dataDir, "where to keep what is made")
	c.Flags().BoolVar(&q.empty, "empty", false, "start without the sample's people and rows")
	c.Flags().BoolVar(&q.reset, "reset", false, "delete the data directory first; asks")
	c.Flags().BoolVarP(&q.yes, "yes", "y", false, "answer yes to what --reset asks")
	_ = c.MarkFlagDirname("data-dir")
	return c
}

func (q *quickstart) run(ctx context.Context) error {
	dir, err := filepath.Abs(q.dir)
	if err != nil {
		return err
	}
	q.dir = dir
	if _, err := os.Lstat(dir); err == nil {
		if err := ownDir(dir); err != nil {
			return err
		}
	}
	socket := filepath.Join(runDirFor(dir), socketName)
	if err := ownSocket(socket); err != nil {
		return err
	}
	running := adminsocket.New(socket)
	switch found, err := running.Answers(ctx); {
	case err != nil:
		return err
	case found:
		return q.join(ctx, running)
	}
	if q.reset {
		if err := q.confirmReset(ctx); err != nil {
			return err
		}
	}
	if err := ownDir(dir); err != nil {
		return err
	}
	secret := filepath.Join(dir, ownSecret)
	if err := ensureSecret(secret); err != nil {
		return err
	}
	if err := ensureServiceSecrets(dir); err != nil {
		return err
	}
	if q.path == "" {
		if q.path, err = ensureConfig(dir); err != nil {
			return err
		}
	}
	err = runHost(ctx, q.configuration, q.errs, func(ctx context.Context, h *host.Host, cfg *config.Config) error {
		local := adminsocket.New(cfg.Socket)
		loaded, err := q.fill(ctx, local, baseURL(h.Address(), cfg), cfg.Applications[sampleApp].Provider.Secrets[0].Reveal())
		if err != nil {
			return err
		}
		made, err := q.foundOrg(ctx, local, baseURL(h.Address(), cfg), cfg)
		if err != nil {
			return fmt.Errorf("make the org %s: %w", sampleOrg, err)
		}
		if err := q.show(ctx, local, baseURL(h.Address(), cfg), secret); err != nil {
			return err
		}
		if err := q.showOwner(baseURL(h.Address(), cfg), made, cfg); err != nil {
			return err
		}
		if err := loaded.Settled(ctx); err != nil {
			return err
		}
		fmt.Fprintln(q.out, "\nServing until you press Ctrl-C.")
		return nil
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w\nAnother program listens there: choose another port, with --listen 127.0.0.1:9000 for example", err)
	}
	return err
}

// configuration is that of the file, for this directory.
func (q *quickstart) configuration() (*config.Config, error) {
	return q.load(map[string]any{
		"run_dir": runDirFor(q.dir),
		"applications." + sampleApp + ".provider.secret": "file:" + filepath.Join(q.dir, ownSecret),
	})
}

// join loads into the host that is running what is missing there.
func (q *quickstart) join(ctx context.Context, running *adminsocket.Client) error {
	if q.reset {
		return usageError{errors.New("a host of this directory is running: stop it before --reset")}
	}
	fmt.Fprintf(q.errs, "A host of this directory is running (%s): loading into it what is missing.\n", running.Path())
	loaded, err := q.fill(ctx, running, "", "")
	if err != nil {
		return err
	}
	if err := loaded.Settled(ctx); err != nil {
		return err
	}
	return q.refound(ctx, running)
}

// fill publishes the catalog and loads the sample, over HTTP where a base is
// known, else over the socket; the store is accepted last.
func (q *quickstart) fill(ctx context.Context, local *adminsocket.Client, base, secret string) (*acme.Loaded, error) {
	if err := q.publish(ctx, local); err != nil {
		return nil, err
	}
	loaded := &acme.Loaded{}
	if !q.empty {
		target := acme.Target{
			Provider: &provider.Caller{Base: base, Secret: secret},
			Local: func(ctx context.Context, op string, params, result any) error {
				return local.Call(ctx, sampleApp, op, params, result)
			},
		}
		if base == "" {
			target.Provider = local.Application(sampleApp)
		}
		bar := newProgress(q.errs)
		var err error
		loaded, err = acme.Write(ctx, target, acme.Generate(), bar.tell)
		bar.end()
		if err != nil {
			return nil, err
		}
		if loaded.AlreadyThere {
			fmt.Fprintln(q.errs, "The sample is there already.")
		}
	}
	return loaded, local.Host(ctx, "storage.accept", map[string]string{"app": sampleApp}, nil)
}

// publish puts the sample's catalog in, once.
func (q *quickstart) publish(ctx context.Context, local *adminsocket.Client) error {
	var head struct {
		Published *provider.PublishedCatalog `json:"published"`
	}
	if err := local.Call(ctx, sampleApp, "getPublishedCatalog", nil, &head); err != nil {
		return err
	}
	if head.Published != nil {
		return nil
	}
	built, err := sampleCatalog()
	if err != nil {
		return err
	}
	document, err := built.Document()
	if err != nil {
		return err
	}
	return local.Call(ctx, sampleApp, "publishCatalog", map[string]any{
		"document": json.RawMessage(document), "provenance": authz.AdminProvenance("quickstart"),
	}, nil)
}

// show prints where the host is, a question ready to paste, and its answer; without
// the sample there is no question.
func (q *quickstart) show(ctx context.Context, local *adminsocket.Client, base, secretFile string) error {
	if q.empty {
		var there struct {
			Roles []json.RawMessage `json:"roles"`
		}
		if err := local.Call(ctx, sampleApp, "listRoles", map[string]int{"limit": 1}, &there); err != nil {
			return err
		}
		if len(there.Roles) == 0 {
			fmt.Fprintf(q.out, "\nauthz is ready at %s\n\nIt knows no people, folders or rows: there is nothing to ask yet. Its bearer secret is in %s\n", base, words.Shell(secretFile))
			fmt.Fprintf(q.out, "To load the sample, in another terminal: %s quickstart\n\n", os.Args[0])
			return nil
		}
	}
	question := acme.Questions(acme.Generate())[0]
	body, err := json.Marshal(checkParams{Principal: question.Principal, Key: question.Key, Scope: question.Scope})
	if err != nil {
		return err
	}
	token, err := os.ReadFile(secretFile)
	if err != nil {
		return err
	}
	var answer json.RawMessage
	caller := provider.Caller{Base: base, Secret: strings.TrimSpace(string(token))}
	if err := caller.Call(ctx, "check", json.RawMessage(body), &answer); err != nil {
		return err
	}
	fmt.Fprintf(q.out, "\nauthz is ready at %s\n\n", base)
	fmt.Fprintf(q.out, "May %s use %s at %s? Ask:\n", question.Principal.Subject(), question.Key, question.Scope)
	fmt.Fprintf(q.out, "curl -sS %s/v1/check -H \"Authorization: Bearer $(cat %s)\" -d %s\n", base, words.Shell(secretFile), words.Shell(string(body)))
	fmt.Fprintf(q.out, "%s\n\n", strings.TrimSpace(string(answer)))
	fmt.Fprintf(q.out, "Why? In another terminal: %s explain --user %s %s %s\n", os.Args[0],
		words.Shell(question.Principal.UserID), words.Shell(question.Key), words.Shell(question.Scope))
	return nil
}

func (q *quickstart) confirmReset(ctx context.Context) error {
	if !exists(q.dir) {
		return nil
	}
	if !exists(filepath.Join(q.dir, ownSecret)) {
		return usageError{fmt.Errorf("%s does not look like a quickstart's directory: nothing was deleted", q.dir)}
	}
	if !q.yes && !confirm(ctx, bufio.NewReader(q.in), q.errs, "Delete "+q.dir+" and everything in it?") {
		return usageError{errors.New("nothing was deleted")}
	}
	return os.RemoveAll(q.dir)
}

// ensureSecret makes the bearer secret of the sample unless it is there.
func ensureSecret(path string) error {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the program instead
	return ensureFile(path, []byte(hex.EncodeToString(random)+"\n"))
}

// ensureConfig makes the configuration and the catalog that it names unless they
// are there: they are the operator's from then on.
func ensureConfig(dir string) (path string, err error) {
	if err := ensureFile(filepath.Join(dir, ownCatalog), acme.Catalog()); err != nil {
		return "", err
	}
	text := configs.Quickstart
	if run := runDirFor(dir); run != filepath.Join(dir, "run") {
		quoted, err := json.Marshal(run) // which is YAML too
		if err != nil {
			return "", err
		}
		text = strings.Replace(text, "\nrun_dir: run\n", "\nrun_dir: "+string(quoted)+"\n", 1)
	}
	path = filepath.Join(dir, ownConfig)
	return path, ensureFile(path, []byte(text))
}

// ensureFile makes a file unless it is there. It appears whole or not at all,
// and of two that make it at once one wins.
func ensureFile(path string, content []byte) error {
	if exists(path) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), path)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	}
	return os.Rename(f.Name(), path) // a file system without links
}

// maxRunDir leaves room for the names of sockets below it: the system allows
// about 100 bytes for a whole path.
const maxRunDir = 55

// runDirFor is where a quickstart keeps its sockets.
func runDirFor(dir string) string {
	path := filepath.Join(dir, "run")
	if len(path) <= maxRunDir {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(os.TempDir(), fmt.Sprintf("authz-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])))
}

func baseURL(address string, cfg *config.Config) string {
	scheme := "http://"
	if cfg.TLS.Cert != "" {
		scheme = "https://"
	}
	return scheme + address
}
