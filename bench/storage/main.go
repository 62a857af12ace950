package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := run
	if settings := os.Getenv(asBare); settings != "" {
		work = func(ctx context.Context) error { return beBare(ctx, settings) }
	}
	if err := work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "storage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	driver := flag.String("driver", "postgres", "postgres or sqlite")
	dsn := flag.String("dsn", "", "a PostgreSQL database to use, which keeps the rows; else one is started")
	grants := flag.Int("grants", 1_000_000, "rows to ask over")
	rounds := flag.Int("rounds", 2000, "measurements of each thing")
	part := flag.String("part", "", "one of "+strings.Join(parts, ", ")+" alone")
	profile := flag.String("cpuprofile", "", "write a profile of the host, which is this process, to a file")
	output := flag.String("output", "text", "text, json or markdown")
	flag.Parse()
	if *rounds < 1 {
		return errors.New("--rounds must be at least 1")
	}
	if *part != "" && !slices.Contains(parts, *part) {
		return fmt.Errorf("--part must be one of %s, not %q", strings.Join(parts, ", "), *part)
	}

	dir, err := os.MkdirTemp("", "authz-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := Options{Driver: *driver, Bin: filepath.Join(dir, "bin"), Dir: dir, Grants: *grants, Rounds: *rounds, Part: *part,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), line) }}
	if err := build(ctx, o.Bin, *driver); err != nil {
		return err
	}
	switch *driver {
	case "sqlite":
		o.Database = filepath.Join(dir, "bench.db")
		o.Config = map[string]any{"path": o.Database}
	case "postgres":
		if o.Database = *dsn; o.Database == "" {
			cluster, err := postgrestest.Start(ctx, postgrestest.Options{Fsync: true})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, cluster.Close()) }()
			o.Database = cluster.DSN("postgres")
		}
		o.Config = map[string]any{"dsn": o.Database}
	default:
		return fmt.Errorf("--driver must be postgres or sqlite, not %q", *driver)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	lines, err := Run(ctx, o)
	return errors.Join(err, write(*output, lines))
}

func build(ctx context.Context, bin, driver string) error {
	tree, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/authzhost/authz").Output()
	if err != nil {
		return fmt.Errorf("run this in bench/storage: %w", err)
	}
	for name, pkg := range map[string]string{"authz": "cmd/authz", "authz-plugin-" + driver: "plugins/" + driver} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(bin, name), "./"+pkg)
		cmd.Dir = strings.TrimSpace(string(tree))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

func write(output string, lines []Line) error {
	switch output {
	case "json":
		return json.NewEncoder(os.Stdout).Encode(lines)
	case "markdown":
		fmt.Print("| | |\n| --- | --- |\n")
		for _, l := range lines {
			fmt.Printf("| %s | %s |\n", l.What, l.Figure)
		}
	default:
		for _, l := range lines {
			fmt.Printf("%-45s %s\n", l.What, l.Figure)
		}
	}
	return nil
}
