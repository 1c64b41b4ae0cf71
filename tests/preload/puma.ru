# puma.ru: the Rack application of puma.sh. GET /h/<n>/<k> answers the SHA-256 of <n>, k times;
# POST /echo answers the SHA-256 of the body. Every request also leaves some garbage behind.
require "digest/sha2"

run lambda { |env|
  _, verb, number, times = env["PATH_INFO"].split("/")
  body =
    if env["REQUEST_METHOD"] == "POST" && verb == "echo"
      Digest::SHA256.hexdigest(env["rack.input"].read)
    elsif verb == "h"
      rows = (1..200).map { |i| { "id" => i, "text" => "row #{i} of #{number}" * 3 } }
      rows.map { |row| row.map { |key, value| "#{key}=#{value}" }.join("&") }.sort.join("\n")
      ([Digest::SHA256.hexdigest(number)] * times.to_i).join
    end
  if body
    [200, { "Content-Type" => "text/plain", "Content-Length" => body.bytesize.to_s }, [body]]
  else
    [404, { "Content-Type" => "text/plain" }, []]
  end
}
