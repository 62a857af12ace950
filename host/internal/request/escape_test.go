package request_test

import (
	"testing"

	"github.com/authzhost/authz/host/internal/request"
)

func TestALoneSurrogateIsAnEscapeWithoutItsOtherHalf(t *testing.T) {
	for text, want := range map[string]bool{
		``:                    false,
		`"plain"`:             false,
		`"\ud83d\ude00"`:      false,
		`"\ud83d\ude00\u0041`: false,
		`"\\ud83d"`:           false,
		`"\uzzzz"`:            false,
		`"\u00e9\n"`:          false,
		`"\`:                  false,
		`"\ud83`:              false, // cut off: no escape that anybody reads
		`"\ud83d"`:            true,
		`"\ud83d`:             true,
		`"\ud83d\u`:           true,
		`"\ude00"`:            true,
		`"\ud83d\ud83d"`:      true,
		`"\ud83dx\ude00"`:     true,
		`"\\\udc00"`:          true,
	} {
		if got := request.LoneSurrogate([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
