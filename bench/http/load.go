package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// figures are what one turn, or the median of several, came to.
type figures struct {
	rate     float64 // requests a second
	p50, p99 time.Duration
}

// question is a request ready to be sent, and what its answer must hold.
type question struct {
	request []byte
	answer  []byte
}

func newQuestion(address, secret, body, answer string) question {
	return question{answer: []byte(answer), request: []byte("POST /v1/check HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer " + secret +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)}
}

// load asks over keep-alive connections for as long as ctx and span allow. It
// speaks HTTP itself: a client of net/http takes more of the machine than either
// server.
func load(ctx context.Context, address string, questions []question, connections int, span time.Duration) (figures, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	latencies := make([][]time.Duration, connections)
	failures := make([]error, connections)
	var all sync.WaitGroup
	began := time.Now()
	for i := range connections {
		all.Go(func() {
			if latencies[i], failures[i] = askUntil(ctx, address, questions, i, began.Add(span), 0); failures[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if err := errors.Join(failures...); err != nil {
		return figures{}, err
	}
	merged := slices.Concat(latencies...)
	if len(merged) == 0 {
		return figures{}, errors.New("not one answer within a turn")
	}
	slices.Sort(merged)
	return figures{rate: float64(len(merged)) / took.Seconds(), p50: merged[len(merged)/2], p99: merged[len(merged)*99/100]}, ctx.Err()
}

// askEach asks every question once.
func askEach(ctx context.Context, address string, questions []question) error {
	_, err := askUntil(ctx, address, questions, 0, time.Now().Add(time.Hour), len(questions))
	return err
}

// askUntil asks on one connection, at most so many times; 0 is no bound.
func askUntil(ctx context.Context, address string, questions []question, first int, until time.Time, most int) (latencies []time.Duration, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	r := bufio.NewReaderSize(conn, 64<<10)
	var body []byte
	for n := first; ; n++ {
		began := time.Now()
		if began.After(until) || most > 0 && n-first == most {
			return latencies, nil
		}
		q := questions[n%len(questions)]
		if _, err := conn.Write(q.request); err != nil {
			return nil, err
		}
		if body, err = readAnswer(r, body[:0]); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(began))
		if !bytes.Equal(body, q.answer) {
			return nil, fmt.Errorf("answered %.200q instead of %.200q", body, q.answer)
		}
	}
}

var contentLength = []byte("Content-Length: ")

func readAnswer(r *bufio.Reader, body []byte) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		rest, _ := r.Peek(min(r.Buffered(), 500))
		return nil, fmt.Errorf("answered %q %q", line, rest)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 {
		return nil, errors.New("an answer without Content-Length")
	}
	body = slices.Grow(body, length)[:length]
	_, err = io.ReadFull(r, body)
	return body, err
}

// median takes each figure's middle of several turns.
func median(turns []figures) figures {
	middle := func(of func(figures) float64) float64 {
		all := make([]float64, 0, len(turns))
		for _, t := range turns {
			all = append(all, of(t))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return figures{rate: middle(func(f figures) float64 { return f.rate }),
		p50: time.Duration(middle(func(f figures) float64 { return float64(f.p50) })),
		p99: time.Duration(middle(func(f figures) float64 { return float64(f.p99) }))}
}
