# Everything the server needs is loaded before the first request: two threads that meet in
# Ruby's autoload of Digest::SHA256 at the same time can get an uninitialized constant.
require "base64"
require "cgi"
require "date"
require "digest"
require "digest/sha2"
require "nokogiri"
require "rack"

require_relative "contacts/vcard"
require_relative "contacts/book"
require_relative "contacts/dav"
require_relative "contacts/pages"
require_relative "contacts/app"
