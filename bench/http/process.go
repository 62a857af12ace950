package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// process is a server that was started.
type process struct {
	cmd   *exec.Cmd
	lines chan string // of its standard output; closed at its end
	log   string      // file of its standard error
}

func start(cmd *exec.Cmd, log string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, lines: make(chan string, 100), log: log}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p, nil
}

// patience is for a quickstart that loads its sample.
const patience = 3 * time.Minute

// said waits for a line and answers its first group.
func (p *process) said(ctx context.Context, line *regexp.Regexp) (string, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case text, ok := <-p.lines:
			if !ok {
				errors, _ := os.ReadFile(p.log)
				return "", fmt.Errorf("it ended:\n%s", errors)
			}
			if m := line.FindStringSubmatch(text); m != nil {
				return m[1], nil
			}
		case <-late.C:
			return "", fmt.Errorf("it did not say %s within %s", line, patience)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	impatient := time.AfterFunc(30*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer impatient.Stop()
	for range p.lines { // until it has ended: Wait closes the pipe
	}
	_ = p.cmd.Wait() // how it ended is no measurement
}
