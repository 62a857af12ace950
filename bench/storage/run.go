package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/authzhost/authz/host"
	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/pluginhost"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Options says what to measure.
type Options struct {
	Driver   string         // postgres or sqlite
	Config   map[string]any // of its plugin
	Database string         // DSN or path, to ask the database directly
	Bin      string         // folder of authz and its plugins
	Dir      string         // scratch
	Grants   int
	Rounds   int    // measurements of each thing
	Part     string // one of parts, "" is all
	Progress func(line string)
}

// parts are what Run measures, in its order.
var parts = []string{"checks", "writes", "visibility", "lists", "lookups"}

// Line is one result.
type Line struct {
	What   string `json:"what"`
	Figure string `json:"figure"`
}

const (
	secret = "a-secret-of-the-benchmark"
	app    = "bench"
)

// Run measures one driver.
func Run(ctx context.Context, o Options) (lines []Line, err error) {
	add := func(what, format string, args ...any) {
		lines = append(lines, Line{what, fmt.Sprintf(format, args...)})
		o.Progress(what + ": " + lines[len(lines)-1].Figure)
	}
	if err := fill(ctx, o, partition, Fill); err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	database, err := openDirect(ctx, o.Driver, o.Database)
	if err != nil {
		return nil, err
	}
	defer database.close()
	if err := database.settle(ctx); err != nil {
		return nil, err
	}
	a, err := start(ctx, o, "a")
	if err != nil {
		return nil, err
	}
	defer a.stop(&err)
	for i, run := range [...]func() error{
		func() error { return coldChecks(ctx, o, database, a, add) },
		func() error { return writes(ctx, o, database, a, add) },
		func() (err error) {
			// Started only now: what follows writes would run beside those measured above.
			b, err := start(ctx, o, "b")
			if err != nil {
				return err
			}
			defer b.stop(&err)
			return visibility(ctx, o, a, b, add)
		},
		func() error { return lists(ctx, o, add) },
		func() error { return lookups(ctx, o, database, add) },
	} {
		if o.Part != "" && o.Part != parts[i] {
			continue
		}
		if err := run(); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// fill writes a world through a plugin of its own.
func fill(ctx context.Context, o Options, partition string, world func(context.Context, storage.Store, int, func(done, of int)) error) error {
	return throughPlugin(ctx, o, partition, func(store storage.Store) error {
		began, last := time.Now(), time.Now()
		return world(ctx, store, o.Grants, func(done, of int) {
			if time.Since(last) > 2*time.Second || done == of {
				last = time.Now()
				o.Progress(fmt.Sprintf("fill: %d of %d grants, %.0f rows/s", done, of, float64(done)/time.Since(began).Seconds()))
			}
		})
	})
}

// throughPlugin has a partition to itself, through a plugin of its own and no host.
func throughPlugin(ctx context.Context, o Options, partition string, use func(storage.Store) error) (err error) {
	plugins, err := pluginhost.New(pluginhost.Options{Dirs: []string{o.Bin}, RunDir: filepath.Join(o.Dir, "fill")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugins.Close(context.WithoutCancel(ctx))) }()
	p, err := plugins.Start(ctx, pluginhost.Spec{Name: "fill", Plugin: o.Driver, Config: o.Config})
	if err != nil {
		return err
	}
	driver, err := p.Storage()
	if err != nil {
		return err
	}
	store, err := driver.Open(ctx, partition)
	if err != nil {
		return err
	}
	return use(store)
}

// instance is one host in this process, its plugin in one of its own.
type instance struct {
	host *host.Host
	app  *host.Application
	base string
}

func configure(o Options, name, partition string) (*config.Config, error) {
	dir := filepath.Join(o.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	settings, err := json.Marshal(o.Config) // JSON is YAML
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`
listen: 127.0.0.1:0
ops_listen: ""
run_dir: %s
plugin_dirs: [%s]
plugins: { main: { plugin: %s, config: %s } }
applications:
  %s:
    catalog: catalog.yaml
    storage: { driver: main, partition: %s }
    provider: { secret: "env:SECRET" }
    ancestry: { kind: stored }
`, filepath.Join(dir, "run"), o.Bin, o.Driver, settings, app, partition)
	path := filepath.Join(dir, "host.yaml")
	err = errors.Join(os.WriteFile(path, []byte(text), 0o600), os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte(Catalog), 0o600))
	if err != nil {
		return nil, err
	}
	return config.Load(config.Source{Path: path, Environ: []string{"SECRET=" + secret}})
}

func start(ctx context.Context, o Options, name string) (*instance, error) {
	cfg, err := configure(o, name, partition)
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, cfg, host.Options{Version: "bench"})
	if err != nil {
		return nil, err
	}
	a, _ := h.Application(app)
	return &instance{host: h, app: a, base: "http://" + h.Address()}, nil
}

func (i *instance) stop(err *error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	*err = errors.Join(*err, i.host.Close(ctx))
}

func coldChecks(ctx context.Context, o Options, database direct, a *instance, add func(string, string, ...any)) (err error) {
	beside, err := startBare(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.stop()) }()
	caller := &http.Client{}
	subjects := func(n int) []string {
		list := []string{"user:" + principal(n), authz.Everyone}
		for _, g := range groupsOf(n) {
			list = append(list, "group:"+g)
		}
		return list
	}
	results, err := alternate(o.Rounds,
		func(i int) error { return database.read(ctx, principal(i), subjects(i)) },
		func(i int) error {
			_, err := a.app.GetSubjectAccess(ctx, authz.UserPrincipal(principal(i)))
			return err
		},
		func(i int) error {
			_, err := a.app.Client().CanFresh(ctx, authz.UserPrincipal(principal(i)), "docs.files.read", "docs.folder:f1")
			return err
		},
		func(i int) error { return freshOverHTTP(ctx, caller, a.base, principal(i)) },
		func(i int) error { return beside.read(ctx, principal(i), subjects(i)) },
		func(i int) error { return beside.read(ctx, "", subjects(i)) })
	if err != nil {
		return err
	}
	for _, depth := range depths {
		m, err := measure(o.Rounds, func(i int) error {
			_, err := a.app.Client().CanFresh(ctx, authz.UserPrincipal(principal(i)), "docs.files.read", deep(depth, 0))
			return err
		})
		if err != nil {
			return err
		}
		add(fmt.Sprintf("cold check, embedded host, depth %d", depth), "p50 %s, p99 %s", micro(m.P50), micro(m.P99))
	}
	for i, what := range []string{"the same rows from the database directly", "closure through host and plugin", "cold check, embedded host", "cold check, POST /v1/check",
		"the same rows asked by a bare gRPC process", "a bare gRPC call without the database"} {
		add(what, "p50 %s, p99 %s", micro(results[i].P50), micro(results[i].P99))
	}
	added, least := results[1].P50-results[0].P50, results[4].P50-results[0].P50
	add("what a bare gRPC process adds to the database", "p50 %s", micro(least))
	add("what plugin and host add to the database", "p50 %s, %.2f times that", micro(added), float64(added)/float64(least))
	return nil
}

func freshOverHTTP(ctx context.Context, c *http.Client, base, user string) error {
	body := fmt.Sprintf(`{"principal":{"userId":%q},"key":"docs.files.read","scope":"docs.folder:f1","fresh":true}`, user)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/check", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("check: %s %s", res.Status, answer)
	}
	return err
}

func writes(ctx context.Context, o Options, database direct, a *instance, add func(string, string, ...any)) error {
	prov := authz.AdminProvenance("bench")
	input := func(subject string, n int) provider.GrantInput {
		return provider.GrantInput{Subject: subject, Pattern: "docs.files.read", Scope: fmt.Sprintf("docs.folder:w%d", n)}
	}
	results, err := alternate(o.Rounds,
		func(i int) error { return database.write(ctx, i) },
		func(i int) error {
			_, err := a.app.CreateGrant(ctx, input("user:direct", i), prov)
			return err
		})
	if err != nil {
		return err
	}
	add("one grant, bare transaction", "p50 %s", micro(results[0].P50))
	add("one grant, end to end", "p50 %s, %.2f times", micro(results[1].P50), float64(results[1].P50)/float64(results[0].P50))
	const rows = 10_000
	bulk, err := measure(5, func(i int) error {
		list := make([]provider.GrantInput, rows)
		for n := range list {
			list[n] = input(fmt.Sprintf("user:bulk%d", n%100), i*rows+n)
		}
		_, err := a.app.CreateGrants(ctx, list, prov)
		return err
	})
	if err != nil {
		return err
	}
	add("createGrants of 10,000 rows", "%.0f rows/s", rows/bulk.P50.Seconds())
	return nil
}

// visibility is from the answer of a write at one host until the other denies.
func visibility(ctx context.Context, o Options, a, b *instance, add func(string, string, ...any)) error {
	prov := authz.AdminProvenance("bench")
	var took []time.Duration
	for i := range max(o.Rounds/10, 20) {
		user := fmt.Sprintf("seen%d-%d", time.Now().UnixNano(), i)
		grant, err := a.app.CreateGrant(ctx, provider.GrantInput{Subject: "user:" + user, Pattern: "docs.files.read", Scope: "*"}, prov)
		if err != nil {
			return err
		}
		who := authz.UserPrincipal(user)
		if allowed, err := b.app.Client().CanFresh(ctx, who, "docs.files.read", "*"); err != nil || !allowed {
			return fmt.Errorf("the grant is not there: %v", err)
		}
		if _, err := b.app.Client().Can(ctx, who, "docs.files.read", "*"); err != nil { // cached now
			return err
		}
		if err := a.app.DeleteGrant(ctx, grant.ID, prov); err != nil {
			return err
		}
		start := time.Now()
		for {
			allowed, err := b.app.Client().Can(ctx, who, "docs.files.read", "*")
			if err != nil {
				return err
			}
			if !allowed {
				break
			}
			time.Sleep(50 * time.Microsecond)
		}
		took = append(took, time.Since(start))
	}
	s := spread(took)
	add("a write seen by the other host", "p50 %s, p99 %s", micro(s.P50), micro(s.P99))
	return nil
}

func micro(d time.Duration) string { return d.Round(time.Microsecond).String() }
