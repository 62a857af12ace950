package hostedclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/authzhost/authz/sdk/provider"
)

// Stream calls row for each line of an answer in NDJSON but the last, which says how
// many there are (spec: hosted-api §15). It has no bound in time: ctx ends it. A line is
// bounded as another answer is, and valid until row returns.
func (c *Client) Stream(ctx context.Context, path []string, query map[string]any, row func(line []byte) error) error {
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/x-ndjson, application/json")
	answer, err := c.do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, MaxAnswer)) // what did not arrive is no answer of the API
		return c.refusal(answer.StatusCode, text)
	}
	lines := bufio.NewReaderSize(answer.Body, MaxAnswer)
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return &provider.TransportError{Message: fmt.Sprintf("entry %d of %s is longer than %d MiB: that is no audit entry", n+1, c.URL, MaxAnswer>>20), Cause: err}
		}
		if err != nil {
			return &provider.TransportError{Message: fmt.Sprintf("the answer of %s broke off after %d entries: what is missing is not known. Run it again", c.URL, n), Cause: err}
		}
		var last struct {
			End   bool
			Count int
		}
		if bytes.HasPrefix(line, []byte(`{"end":`)) && json.Unmarshal(line, &last) == nil && last.End {
			if last.Count != n {
				return fmt.Errorf("%s announced %d entries and sent %d: run it again", c.URL, last.Count, n)
			}
			return nil
		}
		if err := row(line); err != nil {
			return err
		}
	}
}
