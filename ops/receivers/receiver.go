// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 go run receiver.go
package main

import (
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
	"time"
)

// verified tells whether a holder of one of the secrets sent exactly these bytes, less than five minutes ago.
func verified(secrets []string, headers http.Header, body []byte) bool {
	id, sent := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	at, err := strconv.ParseUint(sent, 10, 40)
	if err != nil || math.Abs(float64(time.Now().Unix())-float64(at)) > 300 {
		return false
	}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return false
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, sent, body)
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(given), expected) { // two are given while a secret is changed: one must match
				return true
			}
		}
	}
	return false
}

func main() {
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || !verified(strings.Split(os.Getenv("SECRET"), ","), request.Header, body) {
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
