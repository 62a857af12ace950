// Command acme-questions asks a running host the questions of the sample world
// and compares its answers with those of a plain walk over the rows.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/sdk/provider"
)

// The exit statuses.
const (
	exitPassed = 0
	exitFailed = 1 // a wrong answer, or no answer
	exitUsage  = 2
)

func main() {
	notices.Asked()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], questionsOfTheSample, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	url, tokenFile, output string
	single                 bool
	timeout                time.Duration
}

// errAnswers reports that the host answered, and not as expected.
var errAnswers = errors.New("the host answers otherwise than the rows say")

// failure is an error that is not one of usage.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func questionsOfTheSample() []acme.Question { return acme.Questions(acme.Generate()) }

// run is the command without the process around it. questions is called once the
// arguments have been found good.
func run(ctx context.Context, args []string, questions func() []acme.Question, stdout, stderr io.Writer) int {
	cmd := command(questions)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitPassed
	}
	fmt.Fprintln(stderr, "acme-questions:", err)
	if f := (failure{}); errors.As(err, &f) {
		return exitFailed
	}
	fmt.Fprintln(stderr, "Run acme-questions --help for the flags.")
	return exitUsage
}

func command(questions func() []acme.Question) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "acme-questions --token-file FILE",
		Short: "Ask a host the questions of the sample world and compare the answers",
		Long: fmt.Sprintf(`Ask a running host the %d questions of the sample world through POST /v1/check
and compare its answers with those that a plain walk over the generated rows
gives. The sample must be loaded, as "make run" does.

Prints a line for every answer that differs, then how many passed. Exit status
0: all passed. 1: an answer differs, or the host did not answer. 2: bad usage.`, acme.QuestionCount),
		Example: `  acme-questions --token-file .authz/token
  acme-questions --url http://127.0.0.1:8080/apps/docs --token-file .authz/token --output json`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.ask(cmd.Context(), questions, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "http://127.0.0.1:8080", "address below which /v1/check is served")
	f.StringVar(&o.tokenFile, "token-file", "", "file holding the bearer token of the provider API (required)")
	f.StringVar(&o.output, "output", "text", "how to print the result: text or json")
	f.BoolVar(&o.single, "single", false, "ask one question a call instead of all in one batch")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "give up after this time")
	return cmd
}

func (o options) ask(ctx context.Context, sample func() []acme.Question, out io.Writer) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("--output is %q, must be text or json", o.output)
	}
	if o.tokenFile == "" {
		return errors.New("--token-file is required")
	}
	if o.timeout <= 0 {
		return fmt.Errorf("--timeout is %s, must be above zero", o.timeout)
	}
	token, err := readToken(o.tokenFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	caller := &provider.Caller{Base: o.url, Secret: token}
	questions := sample()
	ask := askBatch
	if o.single {
		ask = askSingly
	}
	answers, err := ask(ctx, caller, questions)
	if err != nil {
		return failure{err}
	}
	r := compare(questions, answers)
	if err := r.print(out, o.output); err != nil {
		return failure{err}
	}
	if len(r.Failures) > 0 {
		return failure{errAnswers}
	}
	return nil
}

// maxToken bounds what is read of a token file.
const maxToken = 4 << 10

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || len(b) > maxToken {
		return "", fmt.Errorf("the token file %s is empty or longer than %d bytes", path, maxToken)
	}
	return token, nil
}

// print writes the result as text or as one JSON object.
func (r result) print(out io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	for _, f := range r.Failures {
		if _, err := fmt.Fprintln(out, f); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d passed, %d failed\n", r.Passed, r.Failed)
	return err
}
