package upload

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// response is an Export…ServiceResponse with fields that a newer collector may add.
func response(rejected int64) []byte {
	var within []byte
	within = protowire.AppendTag(within, 2, protowire.BytesType)
	within = protowire.AppendString(within, "too many")
	within = protowire.AppendTag(within, 1, protowire.VarintType)
	within = protowire.AppendVarint(within, uint64(rejected))
	var m []byte
	m = protowire.AppendTag(m, 9, protowire.Fixed64Type)
	m = protowire.AppendFixed64(m, 1)
	m = protowire.AppendTag(m, 1, protowire.BytesType)
	return protowire.AppendBytes(m, within)
}

func TestPartial(t *testing.T) {
	whole := response(7)
	for name, c := range map[string]struct {
		response []byte
		want     int64
	}{
		"nothing":        {nil, 0},
		"seven":          {whole, 7},
		"less than none": {response(-1), 0},
		"torn":           {whole[:len(whole)-3], 0},
		"a page":         {[]byte("<html>welcome</html>"), 0},
	} {
		if got := partial(c.response).Rejected; got != c.want {
			t.Errorf("%s: %d rejected, want %d", name, got, c.want)
		}
	}
}

func FuzzPartial(f *testing.F) {
	f.Add(response(7))
	f.Add([]byte{0x0a, 0xff})
	f.Fuzz(func(t *testing.T, answer []byte) {
		if p := partial(answer); p.Rejected < 0 {
			t.Errorf("%d rejected", p.Rejected)
		}
	})
}
