package throttle

import (
	"strconv"
	"testing"
)

var signIn = Rate{Name: "sign_in", PerMinute: 10}

func TestBucketsAdmitTheirRateAndFillAgain(t *testing.T) {
	now := int64(0)
	l := New(func() int64 { return now })
	for i := range signIn.PerMinute {
		if s := l.Take(signIn, "a"); s.WaitMs != 0 || s.Remaining != signIn.PerMinute-i-1 {
			t.Fatalf("call %d: %+v", i, s)
		}
	}
	if s := l.Take(signIn, "a"); s != (Standing{Rate: signIn, WaitMs: 6000, ResetMs: 60_000}) {
		t.Fatalf("the eleventh: %+v", s)
	}
	if s := l.Take(signIn, "b"); s.WaitMs != 0 {
		t.Error("another address shares the bucket")
	}
	now += 5999
	if s := l.Take(signIn, "a"); s.WaitMs != 1 {
		t.Errorf("a millisecond before its time: %+v", s)
	}
	now++
	if s := l.Take(signIn, "a"); s.WaitMs != 0 {
		t.Errorf("refused after its time: %+v", s)
	}
	for range 70 {
		l.Charge(BadCredentials, "a")
	}
	if s := l.Look(BadCredentials, "a"); s.WaitMs != 11_000 {
		t.Errorf("many at once are paid for afterwards: %+v", s)
	}
}

func TestAClockThatIsSetBackKeepsNobodyOut(t *testing.T) {
	now := int64(3_600_000)
	l := New(func() int64 { return now })
	for range signIn.PerMinute {
		l.Take(signIn, "a")
	}
	now = 0
	if s := l.Take(signIn, "a"); s.WaitMs != 6000 {
		t.Errorf("an hour back: %+v", s)
	}
	now += 6000
	if s := l.Take(signIn, "a"); s.WaitMs != 0 {
		t.Errorf("refused after its time by the new clock: %+v", s)
	}
}

func TestBucketsAreBoundedInNumber(t *testing.T) {
	l := New(func() int64 { return 0 })
	for i := range maxBuckets + 10 {
		l.Take(signIn, strconv.Itoa(i))
	}
	if len(l.buckets) != maxBuckets || l.recent.Len() != maxBuckets {
		t.Errorf("%d buckets, %d in use order", len(l.buckets), l.recent.Len())
	}
}
