package main

import (
	"bufio"
	"bytes"
	"context"
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
	"sync"
	"time"
)

const (
	overloadSecret  = "a-secret-of-the-overload"
	overloadCatalog = "namespaces: [docs]\npermissions:\n  docs.files.read: true\n"
)

// overloaded is what a load came to.
type overloaded struct {
	mu       sync.Mutex
	open     int
	ends     []time.Time // of what was done
	done     []time.Duration
	refused  []time.Duration
	bare     int // refusals without Retry-After or without their fate
	others   map[int]int
	failures []error
}

// measureOverload offers a host ten times the writes that it can do.
func measureOverload(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "authz-overload")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.authz == "" {
		o.authz = filepath.Join(dir, "authz")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.authz, "./cmd/authz")
		build.Dir, build.Stderr = o.root, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build authz: %w", err)
		}
	}
	fmt.Printf("| writes that take 25 ms each | one at once | four at once |\n| --- | ---: | ---: |\n")
	var columns [2][]string
	for i, atOnce := range []string{"1", "4"} {
		if columns[i], err = overload(ctx, o, filepath.Join(dir, atOnce), atOnce); err != nil {
			return fmt.Errorf("%s at once: %w", atOnce, err)
		}
	}
	for i, name := range overloadRows {
		fmt.Printf("| %s | %s | %s |\n", name, columns[0][i], columns[1][i])
	}
	return nil
}

var overloadRows = []string{"capacity, writes/s", "offered, writes/s", "done while that lasts, writes/s", "goodput, of the capacity", "refused, p50 / p99", "done, p50 / p99",
	"refusals that lack `Retry-After` or `not_applied`", "anything else but 200 and 503", "warm checks meanwhile, p50 / p99", "limit at the end", "goroutines, most", "memory before / most / after", "first write done after the end"}

func overload(ctx context.Context, o options, dir, atOnce string) (_ []string, err error) {
	host, at, ops, err := startOverloaded(ctx, o, dir, atOnce)
	if err != nil {
		return nil, err
	}
	defer host.stop()
	pool := &connections{address: at}
	defer pool.close()
	if status, _, _, err := pool.post(ctx, "/v1/createGrant", grantBody("warm")); err != nil || status != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("the first write: %d", status))
	}
	before, err := resident(host.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	capacity, err := pool.capacity(ctx, o.span)
	if err != nil {
		return nil, err
	}
	rate := 10 * capacity
	var load overloaded
	var checks []time.Duration
	var goroutines, limit int
	var memory int64
	running, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { checks, err = pool.checks(running) })
	beside.Go(func() {
		for ; running.Err() == nil; pause(running, 200*time.Millisecond) {
			goroutines = max(goroutines, told(running, ops, goroutinesLine))
			if now := told(running, ops, limitLine); now > 0 {
				limit = now
			}
			size, _ := resident(host.cmd.Process.Pid) // the host may have ended, which others tell
			memory = max(memory, size)
		}
	})
	began := time.Now()
	offered := pool.offer(ctx, &load, rate, o.span)
	took := time.Since(began)
	ended := time.Now()
	recovered := time.Duration(0)
	for recovered == 0 {
		status, _, _, err := pool.post(ctx, "/v1/createGrant", grantBody("after"))
		if err != nil {
			stop()
			beside.Wait()
			return nil, err
		}
		if status == http.StatusOK {
			recovered = time.Since(ended)
		}
	}
	inTime := load.wait(ended)
	stop()
	beside.Wait()
	if err != nil {
		return nil, err
	}
	if n := len(load.failures); n > 0 {
		return nil, fmt.Errorf("%d requests got no answer, the first: %w", n, load.failures[0])
	}
	pause(ctx, 5*time.Second)
	after, err := resident(host.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	good := float64(inTime) / took.Seconds()
	mib := func(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }
	return []string{fmt.Sprintf("%.0f", capacity), fmt.Sprintf("%.0f", float64(offered)/took.Seconds()), fmt.Sprintf("%.0f", good), fmt.Sprintf("%.0f %%", 100*good/capacity),
		quantiles(load.refused), quantiles(load.done), strconv.Itoa(load.bare), fmt.Sprint(load.others), quantiles(checks), strconv.Itoa(limit), strconv.Itoa(goroutines),
		mib(before) + " / " + mib(memory) + " / " + mib(after), recovered.Round(time.Millisecond).String()}, nil
}

func quantiles(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("%s / %s", round(all[len(all)/2]), round(all[len(all)*99/100]))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func grantBody(user string) string {
	return `{"input":{"subject":"user:` + user + `","pattern":"docs.files.read","provenance":{"kind":"admin","actorUserId":"bench"}}}`
}

// startOverloaded starts a host over the slow driver.
func startOverloaded(ctx context.Context, o options, dir, atOnce string) (_ *process, at, ops string, err error) {
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o700); err != nil {
		return nil, "", "", err
	}
	if at, err = freeAddress(); err != nil {
		return nil, "", "", err
	}
	if ops, err = freeAddress(); err != nil {
		return nil, "", "", err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, "", "", err
	}
	plugin := "{plugin: " + own + ", env: {" + slowVariable + ": \"" + atOnce + "\"}}"
	for name, text := range map[string]string{"docs.yaml": overloadCatalog, "secret": overloadSecret, "authz.yaml": `
listen: ` + at + `
ops_listen: ` + ops + `
run_dir: run
insecure_permissions: allow
log: {access: false}
plugins: {main: ` + plugin + `}
applications:
  docs: {catalog: docs.yaml, storage: {driver: main}, provider: {secret: "file:secret"}}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, "", "", err
		}
	}
	p, err := start(exec.Command(o.authz, "serve", "--config", filepath.Join(dir, "authz.yaml")), filepath.Join(dir, "host.log"))
	if err != nil {
		return nil, "", "", err
	}
	for end := time.Now().Add(30 * time.Second); ; pause(ctx, 50*time.Millisecond) {
		if answer, err := http.Get("http://" + at + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return p, at, ops, nil
			}
		}
		if time.Now().After(end) || ctx.Err() != nil {
			p.stop()
			text, _ := os.ReadFile(p.log)
			return nil, "", "", fmt.Errorf("the host is not ready:\n%s", text)
		}
	}
}

// connections are used again, and as many as are needed.
type connections struct {
	address string

	mu   sync.Mutex
	idle []*connection
}

type connection struct {
	net.Conn
	r *bufio.Reader
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		conn.Close()
	}
}

func (c *connections) take(ctx context.Context) (*connection, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		conn := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return conn, nil
	}
	c.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

// post sends one request.
func (c *connections) post(ctx context.Context, path, body string) (status int, header http.Header, text []byte, err error) {
	conn, err := c.take(ctx)
	if err != nil {
		return 0, nil, nil, err
	}
	request := "POST " + path + " HTTP/1.1\r\nHost: " + c.address + "\r\nAuthorization: Bearer " + overloadSecret +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	if _, err = io.WriteString(conn, request); err != nil {
		conn.Close()
		return 0, nil, nil, err
	}
	answer, err := http.ReadResponse(conn.r, nil)
	if err != nil {
		conn.Close()
		return 0, nil, nil, err
	}
	text, err = io.ReadAll(answer.Body)
	if err != nil || answer.Close {
		conn.Close()
		return answer.StatusCode, answer.Header, text, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, conn)
	return answer.StatusCode, answer.Header, text, nil
}

// capacity is how many writes are done by callers who each wait for the one before:
// the most that any number of them came to.
func (c *connections) capacity(ctx context.Context, span time.Duration) (most float64, err error) {
	for _, callers := range []int{4, 16} {
		var all sync.WaitGroup
		failures := make([]error, callers)
		counts := make([]int, callers)
		began := time.Now()
		for i := range callers {
			all.Go(func() {
				for time.Since(began) < span && failures[i] == nil {
					status, _, _, err := c.post(ctx, "/v1/createGrant", grantBody(fmt.Sprintf("c%d_%d_%d", callers, i, counts[i])))
					if failures[i] = err; err == nil && status == http.StatusOK {
						counts[i]++
					}
				}
			})
		}
		all.Wait()
		if err := errors.Join(failures...); err != nil {
			return 0, err
		}
		sum := 0
		for _, n := range counts {
			sum += n
		}
		most = max(most, float64(sum)/time.Since(began).Seconds())
	}
	return most, nil
}

// offer sends writes at a rate, whatever becomes of them, and answers how many. It
// does not wait for their ends.
func (c *connections) offer(ctx context.Context, load *overloaded, rate float64, span time.Duration) (n int) {
	load.others = map[int]int{}
	const tick = 5 * time.Millisecond
	began := time.Now()
	for ; time.Since(began) < span && ctx.Err() == nil; pause(ctx, tick) {
		for due := int(time.Since(began).Seconds() * rate); n < due; n++ {
			load.begin()
			go load.one(ctx, c, n)
		}
	}
	return n
}

func (l *overloaded) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
}

func (l *overloaded) one(ctx context.Context, c *connections, n int) {
	began := time.Now()
	status, header, text, err := c.post(ctx, "/v1/createGrant", grantBody("o"+strconv.Itoa(n)))
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	switch {
	case err != nil:
		l.failures = append(l.failures, err)
	case status == http.StatusOK:
		l.done = append(l.done, took)
		l.ends = append(l.ends, time.Now())
	case status == http.StatusServiceUnavailable:
		l.refused = append(l.refused, took)
		if header.Get("Retry-After") == "" || !bytes.Contains(text, []byte(`"outcome":"not_applied"`)) {
			l.bare++
		}
	default:
		l.others[status]++
	}
}

// wait waits for everything, and answers how much was done by an instant.
func (l *overloaded) wait(by time.Time) (n int) {
	for {
		l.mu.Lock()
		open := l.open
		l.mu.Unlock()
		if open == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, end := range l.ends {
		if !end.After(by) {
			n++
		}
	}
	return n
}

// checks asks a warm check fifty times a second until the context ends.
func (c *connections) checks(ctx context.Context) (took []time.Duration, err error) {
	for ; ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
		began := time.Now()
		status, _, text, err := c.post(context.WithoutCancel(ctx), "/v1/check", `{"principal":{"userId":"warm"},"key":"docs.files.read"}`)
		if err != nil || status != http.StatusOK || string(text) != `{"allowed":true}` {
			return took, errors.Join(err, fmt.Errorf("a warm check is answered with %d %s", status, text))
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

var (
	goroutinesLine = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)
	limitLine      = regexp.MustCompile(`(?m)^authz_admission_limit\{app="docs",class="write"\} (\d+)$`)
)

// told is what a line of the host's metrics says, 0 when they cannot be had.
func told(ctx context.Context, ops string, line *regexp.Regexp) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/metrics", nil)
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if m := line.FindSubmatch(text); err == nil && m != nil {
		n, _ := strconv.Atoi(string(m[1]))
		return n
	}
	return 0
}
