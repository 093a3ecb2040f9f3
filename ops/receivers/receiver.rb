# A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 ruby receiver.rb (needs the gem webrick)
# With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.

require "json"
require "net/http"
require "openssl"
require "webrick"

# What was signed; nil if it is older than five minutes.
def signed_text(headers, body)
  sent = headers["webhook-timestamp"].to_s
  fresh = sent.match?(/\A\d{1,12}\z/) && (Time.now.to_i - sent.to_i).abs <= 300
  "#{headers["webhook-id"]}.#{sent}.".b + body.b if fresh
end

# Whether one of the secrets signed exactly these bytes.
def verified?(secrets, headers, body)
  text = signed_text(headers, body) or return false
  secrets.any? do |secret|
    key = secret.delete_prefix("whsec_").unpack1("m0")
    next if key.bytesize < 24 # an unset variable is no secret
    expected = "v1,#{[OpenSSL::HMAC.digest("SHA256", key, text)].pack("m0")}"
    headers["webhook-signature"].to_s.split(" ").any? { |given| OpenSSL.secure_compare(given, expected) }
  end
end

# The keys of an endpoint. Keep them for five minutes.
def published_keys(url)
  answer = Net::HTTP.get_response(URI(url))
  answer.value # raises what is no 2xx
  JSON.parse(answer.body)["keys"].map do |key|
    # The DER prefix of every Ed25519 public key, and its 32 bytes.
    OpenSSL::PKey.read("MCowBQYDK2VwAyEA#{key["x"].tr("-_", "+/")}=".unpack1("m0"))
  end
end

# Whether one of the keys signed exactly these bytes.
def verified_by_key?(keys, headers, body)
  text = signed_text(headers, body) or return false
  signatures = headers["webhook-signature"].to_s.split(" ").select { |one| one.start_with?("v1a,") }
  given = signatures.map { |one| one.delete_prefix("v1a,").unpack1("m") }
  keys.any? { |key| given.any? { |one| one.bytesize == 64 && key.verify(nil, one, text) } }
end

def keys
  @kept = [published_keys(ENV.fetch("KEYS")), Time.now + 300] if @kept.nil? || Time.now >= @kept.last
  @kept.first
end

def genuine?(headers, body)
  ENV["KEYS"] ? verified_by_key?(keys, headers, body) : verified?(ENV.fetch("SECRET").split(","), headers, body)
end

class Receiver < WEBrick::HTTPServlet::AbstractServlet
  def do_POST(request, response)
    body = request.body.to_s
    genuine = genuine?(request, body)
    response.status = genuine ? 204 : 401
    # Later, and once for each webhook-id: an event may come again.
    puts "#{request["webhook-id"]} #{JSON.parse(body)["event"]}" if genuine
  end
end

$stdout.sync = true
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ENV.fetch("PORT").to_i, AccessLog: [],
                                 Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN))
server.mount("/", Receiver)
trap("TERM") { server.shutdown }
server.start
