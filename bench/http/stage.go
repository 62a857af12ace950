package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/authzhost/authz/examples/acme"
)

// theStage is everything that runs beside the measurement.
type theStage struct {
	dir       string
	collector *grpc.Server
	host      *process
	bare      *process
	hostAt    string
	bareAt    string
	opsAt     string // of the host
	secret    string
}

func stage(ctx context.Context, o *options) (s *theStage, err error) {
	s = &theStage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "authz-http"); err != nil {
		return s, err
	}
	if o.authz == "" {
		o.authz = filepath.Join(s.dir, "authz")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.authz, "./cmd/authz")
		build.Dir, build.Stderr = o.root, os.Stderr
		if err := build.Run(); err != nil {
			return s, fmt.Errorf("build authz: %w", err)
		}
	}
	spans, err := s.collect()
	if err != nil {
		return s, err
	}
	own, err := os.Executable()
	if err != nil {
		return s, err
	}
	if s.bare, err = start(exec.Command(own, "--bare"), filepath.Join(s.dir, "bare.log")); err != nil {
		return s, err
	}
	if s.bareAt, err = s.bare.said(ctx, regexp.MustCompile(`^(127\.0\.0\.1:\d+)$`)); err != nil {
		return s, fmt.Errorf("the bare server: %w", err)
	}
	data := filepath.Join(s.dir, "data")
	host := exec.Command(o.authz, "quickstart", "--data-dir", data, "--listen", "127.0.0.1:0")
	if s.opsAt, err = freeAddress(); err != nil {
		return s, err
	}
	host.Env = append(os.Environ(), "AUTHZ_OPS_LISTEN="+s.opsAt, "AUTHZ_OPS__PROFILES="+strconv.FormatBool(o.profile != ""), "AUTHZ_LOG__ACCESS=true", "AUTHZ_LOG__FORMAT=json",
		"AUTHZ_TRACING__ENDPOINT="+spans, "AUTHZ_TRACING__INSECURE=true", "AUTHZ_TRACING__SAMPLE=0.01")
	if s.host, err = start(host, filepath.Join(s.dir, "host.log")); err != nil {
		return s, err
	}
	if s.hostAt, err = s.host.said(ctx, regexp.MustCompile(`^authz is ready at http://(\S+)$`)); err != nil {
		return s, fmt.Errorf("the host: %w", err)
	}
	secret, err := os.ReadFile(filepath.Join(data, "acme.secret"))
	s.secret = strings.TrimSpace(string(secret))
	return s, err
}

// collect receives spans and drops them.
func (s *theStage) collect() (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.collector = grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&tracepb.TracesData{}); err != nil {
			return err
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))
	go func() { _ = s.collector.Serve(listener) }() // ends with close
	return listener.Addr().String(), nil
}

func (s *theStage) close() error {
	if s.host != nil {
		s.host.stop()
	}
	if s.bare != nil {
		s.bare.stop()
	}
	if s.collector != nil {
		s.collector.Stop()
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// turns has each server asked in turn, after both were warmed up, and then the
// host in batches. The share is that of the host's requests in bare's of the turn
// before, as quartiles: turns are short because a machine that others share changes
// its pace between long ones.
func (s *theStage) turns(ctx context.Context, o options) (bare, host, batch figures, share [3]float64, err error) {
	var forBare, forHost []question
	var members, answers []string
	for _, q := range acme.Questions(acme.Generate()) {
		body, err := json.Marshal(map[string]any{"principal": q.Principal, "key": q.Key, "scope": q.Scope})
		if err != nil {
			return bare, host, batch, share, err
		}
		answer := fmt.Sprintf(`{"allowed":%t}`, q.Want)
		forHost = append(forHost, newQuestion(s.hostAt, s.secret, string(body), answer))
		forBare = append(forBare, newQuestion(s.bareAt, s.secret, string(body), `{"allowed":true}`))
		members, answers = append(members, string(body)), append(answers, answer)
	}
	thousand := func(list []string) string {
		out := make([]string, 1000)
		for i := range out {
			out[i] = list[i%len(list)]
		}
		return strings.Join(out, ",")
	}
	forBatch := []question{newQuestion(s.hostAt, s.secret, `{"checks":[`+thousand(members)+`]}`, `{"results":[`+thousand(answers)+`]}`)}
	ask := func(into *[]figures, address string, questions []question, connections int) {
		if err != nil {
			return
		}
		var f figures
		if f, err = load(ctx, address, questions, connections, o.span); err == nil {
			*into = append(*into, f)
		}
	}
	var bares, hosts, batches []figures
	for range 2 { // a cold question takes a thousand times as long as a warm one
		if err := askEach(ctx, s.hostAt, forHost); err != nil {
			return bare, host, batch, share, err
		}
		if err := askEach(ctx, s.bareAt, forBare); err != nil {
			return bare, host, batch, share, err
		}
	}
	var profiled chan error
	if o.profile != "" {
		profiled = make(chan error, 1)
		go func() { profiled <- s.profile(ctx, o.profile, 2*o.span*time.Duration(o.rounds)) }()
	}
	for range o.rounds {
		ask(&bares, s.bareAt, forBare, o.connections)
		ask(&hosts, s.hostAt, forHost, o.connections)
	}
	for range o.rounds {
		ask(&batches, s.hostAt, forBatch, min(4, o.connections))
	}
	if profiled != nil {
		err = errors.Join(err, <-profiled)
	}
	if err != nil {
		return bare, host, batch, share, err
	}
	shares := make([]float64, len(hosts))
	for i := range hosts {
		shares[i] = hosts[i].rate / bares[i].rate
	}
	slices.Sort(shares)
	share = [3]float64{shares[len(shares)/4], shares[len(shares)/2], shares[len(shares)*3/4]}
	return median(bares), median(hosts), median(batches), share, nil
}

// profile takes a profile of the host's processor time.
func (s *theStage) profile(ctx context.Context, file string, span time.Duration) error {
	seconds := strconv.Itoa(max(1, int(span.Seconds())))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.opsAt+"/debug/pprof/profile?seconds="+seconds, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	taken, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, taken, 0o600)
}

// freeAddress is one that nobody listens on at the moment.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// memory waits for the host to have come to rest.
func (s *theStage) memory(ctx context.Context) (host, plugins int64, err error) {
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	if host, err = resident(s.host.cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.host.cmd.Process.Pid))
	for _, path := range threads { // a plugin belongs to the thread that started it
		children, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended, or the kernel does not tell
		}
		for _, pid := range bytes.Fields(children) {
			n, err := strconv.Atoi(string(pid))
			if err != nil {
				return 0, 0, err
			}
			size, err := resident(n)
			if err != nil {
				return 0, 0, err
			}
			plugins += size
		}
	}
	return host, plugins, nil
}

func resident(pid int) (int64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, " kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status tells no VmRSS", pid)
}

var benchLine = regexp.MustCompile(`(?m)^BenchmarkCheck/(bare|host)\S*\s.*\s(\d+) allocs/op`)

// allocations of the handlers alone, without a connection.
func allocations(ctx context.Context, root string) (bare, host int, err error) {
	c := exec.CommandContext(ctx, "go", "test", "./host/api", "-run", "^$", "-bench", "^BenchmarkCheck$/^(bare|host)$", "-benchtime", "2000x")
	c.Dir = root
	out, err := c.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	found := map[string]int{}
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		if found[m[1]], err = strconv.Atoi(m[2]); err != nil {
			return 0, 0, err
		}
	}
	if len(found) != 2 {
		return 0, 0, fmt.Errorf("go test -bench printed no allocations:\n%s", out)
	}
	return found["bare"], found["host"], nil
}
