package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
	"github.com/authzhost/authz/verify/goanalysis"
	"github.com/authzhost/authz/verify/sources"
)

const verifyName = "authz-verify"

// job is what the command line asks for.
type job struct {
	config, format, since, cache string
	watch                        bool
	stdout, stderr               io.Writer
}

func runVerify(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	j := job{config: config.DefaultPath, format: "text", stdout: stdout, stderr: stderr}
	var help, tellVersion bool
	f := flags{
		text: map[string]*string{"--config": &j.config, "--format": &j.format, "--changed-since": &j.since, "--cache": &j.cache},
		last: map[string]string{"--config": config.DefaultPath},
		on:   map[string]*bool{"--watch": &j.watch, "-h": &help, "--help": &help, "--version": &tellVersion},
	}
	err := f.parse(args)
	switch {
	case err != nil:
	case help:
		_, err = io.WriteString(stdout, usage)
		return statusOf(stderr, verifyName, err)
	case tellVersion:
		return printVersion(stdout, stderr)
	case !slices.Contains([]string{"text", "json", "sarif"}, j.format):
		err = fmt.Errorf("--format must be text, json or sarif, not %q", j.format)
	case j.watch && j.format == "sarif":
		err = errors.New("--watch is not for --format sarif, which is one document")
	default:
		for _, name := range []string{"--config", "--changed-since", "--cache"} {
			if f.set[name] && *f.text[name] == "" {
				err = fmt.Errorf("%s must not be empty", name)
			}
		}
	}
	if err != nil {
		return fail(stderr, verifyName, err)
	}
	if j.watch {
		return j.watchAll(ctx)
	}
	status, err := j.once(ctx)
	return j.told(status, err)
}

// errInterrupted is the end of a run that was to stop before its report was whole.
var errInterrupted = errors.New("interrupted")

// once makes one run, from reading the configuration to writing the report. An
// interrupt that comes after the report changes nothing about it.
func (j *job) once(ctx context.Context) (int, error) {
	report, catalogPath, err := j.report(ctx)
	if err != nil && ctx.Err() != nil {
		return exitFailed, errInterrupted
	}
	if err == nil {
		err = j.write(report, catalogPath)
	}
	if err != nil {
		return exitFailed, err
	}
	return exitOf(report), nil
}

func (j *job) told(status int, err error) int {
	if err != nil {
		return fail(j.stderr, verifyName, err)
	}
	return status
}

func (j *job) report(ctx context.Context) (report *verify.Report, catalogPath string, err error) {
	c, unknown, err := config.Load(j.config)
	if err != nil {
		return nil, "", err
	}
	for _, name := range unknown {
		fmt.Fprintf(j.stderr, "%s: unknown config field \"%s\"\n", verifyName, escape(name))
	}
	s, err := load(c)
	if err != nil {
		return nil, "", err
	}
	find := sources.Find
	if c.JavaScript() {
		find = sources.FindAll
	}
	found, err := find(c.Include, c.Exclude)
	if err != nil {
		return nil, "", err
	}
	said, err := j.scan(ctx, s, found.Files)
	judged := &goanalysis.Judged{}
	if err == nil && s.goCode != nil {
		judged, err = s.goCode.Judge(ctx, ".", c.Go.Packages)
	}
	if err != nil {
		return nil, "", err
	}
	report = verify.Conclude(s.verify.Catalog, append(said, judged.Reports...))
	if s.goCode != nil {
		report.JudgedGo = counted(judged.Tally)
	}
	var goFiles []string
	for _, file := range judged.Reports {
		goFiles = append(goFiles, file.File)
	}
	if j.since != "" {
		err = j.onlyChanged(ctx, report, append(documentPaths(c), j.config), found.Files, goFiles)
	}
	return report, c.Catalog, err
}

func counted(t goanalysis.Tally) *verify.JudgedGo {
	return &verify.JudgedGo{ServerFunctions: t.Total(), Gated: t.Gated, Exempt: t.Exempt, Findings: t.Findings, NotFollowed: t.NotFollowed}
}

// documentPaths are the files that the configuration names.
func documentPaths(c *config.Config) []string {
	paths := []string{c.Catalog}
	if c.ImportManifest != "" {
		paths = append(paths, c.ImportManifest)
	}
	for _, path := range c.Imports {
		paths = append(paths, path)
	}
	return paths
}

func (j *job) scan(ctx context.Context, s *subject, files []string) ([]verify.FileReport, error) {
	run := s.verify
	run.Files = files
	shown := startProgress(j.stderr, len(files))
	run.Progress = func(done int) { shown.read.Store(int64(done)) }
	var memory *memory
	if j.cache != "" {
		var err error
		if memory, err = remember(j.cache, s); err != nil {
			shown.end()
			return nil, fmt.Errorf("cannot use the cache %s: %w", j.cache, short(err))
		}
		run.Read, run.Around = memory.read, memory.around
	}
	said, err := verify.Scan(ctx, run)
	shown.end()
	if err == nil && memory != nil {
		if err = memory.keep(); err != nil {
			err = fmt.Errorf("cannot write the cache %s: %w", j.cache, short(err))
		}
	}
	return said, err
}

// onlyChanged leaves the issues of files that differ from the revision. When the
// configuration or a catalog differs, any file may have become wrong, and
// everything stays. Go files stay or go together: what one calls by a constant,
// another one may declare.
func (j *job) onlyChanged(ctx context.Context, r *verify.Report, basis, files, goFiles []string) error {
	c, err := changesSince(ctx, j.since)
	if err != nil {
		return fmt.Errorf("--changed-since: %w", err)
	}
	if slices.ContainsFunc(basis, c.changed) {
		return nil
	}
	differs := map[string]bool{verify.CatalogFile: false}
	// What other files had a say in may have come from a change of any of them, or
	// from one that is gone.
	beyond := sync.OnceValue(func() bool { return c.anySource(files) })
	goDiffers := c.anyGo(goFiles)
	for _, file := range goFiles {
		differs[file] = goDiffers
	}
	r.ErrorCount, r.WarningCount = 0, 0
	r.Issues = slices.DeleteFunc(r.Issues, func(issue verify.Finding) bool {
		keep, judged := differs[issue.File]
		if !judged {
			keep = c.changed(issue.File)
			differs[issue.File] = keep
		}
		keep = keep || issue.Beyond && beyond()
		switch {
		case !keep:
		case issue.Severity == authz.SeverityError:
			r.ErrorCount++
		default:
			r.WarningCount++
		}
		return !keep
	})
	return nil
}

func (j *job) write(r *verify.Report, catalogPath string) error {
	switch j.format {
	case "json":
		return writeJSON(j.stdout, r)
	case "sarif":
		return writeSARIF(j.stdout, r, catalogPath)
	default:
		return writeText(j.stderr, r)
	}
}

func exitOf(r *verify.Report) int {
	if r.ErrorCount > 0 {
		return exitIssues
	}
	return exitClean
}
