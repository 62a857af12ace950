package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// confirm asks a question that only yes answers; no answer is a no.
func confirm(ctx context.Context, in *bufio.Reader, to io.Writer, question string) bool {
	fmt.Fprint(to, question+" [y/N] ")
	given := make(chan string, 1)
	go func() { // a read cannot be interrupted; one that was left ends with the process
		line, _ := in.ReadString('\n')
		given <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-given:
		return answer == "y" || answer == "yes"
	case <-ctx.Done():
		fmt.Fprintln(to)
		return false
	}
}
