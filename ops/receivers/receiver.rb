# A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 ruby receiver.rb (needs the gem webrick)

require "json"
require "openssl"
require "webrick"

# Whether a holder of one of the secrets sent exactly these bytes, less than five minutes ago.
def verified?(secrets, headers, body)
  id, sent, signatures = %w[id timestamp signature].map { |name| headers["webhook-#{name}"].to_s }
  return false unless sent.match?(/\A\d{1,12}\z/) && (Time.now.to_i - sent.to_i).abs <= 300

  secrets.any? do |secret|
    key = secret.delete_prefix("whsec_").unpack1("m0")
    digest = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{sent}.".b + body.b)
    expected = "v1,#{[digest].pack("m0")}" # two are given while a secret is changed: one must match
    signatures.split(" ").any? { |given| OpenSSL.secure_compare(given, expected) }
  end
end

class Receiver < WEBrick::HTTPServlet::AbstractServlet
  def do_POST(request, response)
    body = request.body.to_s
    genuine = verified?(ENV.fetch("SECRET").split(","), request, body)
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
