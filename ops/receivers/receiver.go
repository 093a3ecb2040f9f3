// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 go run receiver.go
// With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// signedText returns what was signed; nil if it is older than five minutes.
func signedText(headers http.Header, body []byte) []byte {
	sent := headers.Get("webhook-timestamp")
	at, err := strconv.ParseUint(sent, 10, 40)
	if err != nil || math.Abs(float64(time.Now().Unix())-float64(at)) > 300 {
		return nil
	}
	return fmt.Appendf(nil, "%s.%s.%s", headers.Get("webhook-id"), sent, body)
}

// verified tells whether one of the secrets signed exactly these bytes.
func verified(secrets []string, headers http.Header, body []byte) bool {
	text := signedText(headers, body)
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if text == nil || err != nil || len(key) < 24 { // an unset variable is no secret
			return false
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(given), expected) {
				return true
			}
		}
	}
	return false
}

// publishedKeys returns the keys of an endpoint. Keep them for five minutes.
func publishedKeys(url string) ([]ed25519.PublicKey, error) {
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	var set struct{ Keys []struct{ X string } }
	if err := json.NewDecoder(answer.Body).Decode(&set); err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	for _, one := range set.Keys {
		if key, err := base64.RawURLEncoding.DecodeString(one.X); err == nil && len(key) == ed25519.PublicKeySize {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// verifiedByKey tells whether one of the keys signed exactly these bytes.
func verifiedByKey(keys []ed25519.PublicKey, headers http.Header, body []byte) bool {
	text := signedText(headers, body)
	for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
		encoded, found := strings.CutPrefix(given, "v1a,")
		signature, err := base64.StdEncoding.DecodeString(encoded)
		for _, key := range keys {
			if text != nil && found && err == nil && ed25519.Verify(key, text, signature) {
				return true
			}
		}
	}
	return false
}

var kept struct {
	sync.Mutex
	until time.Time
	keys  []ed25519.PublicKey
}

func genuine(headers http.Header, body []byte) bool {
	url := os.Getenv("KEYS")
	if url == "" {
		return verified(strings.Split(os.Getenv("SECRET"), ","), headers, body)
	}
	kept.Lock()
	defer kept.Unlock()
	if time.Now().After(kept.until) {
		keys, err := publishedKeys(url)
		if err != nil {
			return false
		}
		kept.keys, kept.until = keys, time.Now().Add(5*time.Minute)
	}
	return verifiedByKey(kept.keys, headers, body)
}

func main() {
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || !genuine(request.Header, body) {
			answer.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer.WriteHeader(http.StatusNoContent)
		var told struct{ Event string }
		if json.Unmarshal(body, &told) == nil { // later, and once for each webhook-id: an event may come again
			fmt.Println(request.Header.Get("webhook-id"), told.Event)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
