module Contacts
  # The Rack application: picks the route, answers, and turns a missing card into a 404.
  class App
    def initialize(book)
      @book = book
    end

    def call(env)
      request = Rack::Request.new(env)
      case [request.request_method, request.path_info]
      in ["PROPFIND", "/"] then propfind(request)
      in ["GET", "/"] then html(Pages.dashboard(@book.all))
      in ["GET", "/contacts"] then html(Pages.contacts("Contacts", @book.all))
      in ["GET", "/search"] then search(request.params["q"].to_s)
      in ["GET", %r{\A/cards/(\w+)\.vcf\z}] then card($1)
      in ["GET", "/up"] then answer(200, "text/plain", "up\n")
      else answer(404, "text/plain", "no such page\n")
      end
    end

    private

    def propfind(request)
      full = Dav.card_data?(request.body.read)
      answer(207, "application/xml; charset=utf-8", Dav.multistatus(@book.all, card_data: full))
    end

    def search(words)
      html(Pages.contacts("Search: #{words}", @book.search(words)))
    end

    def card(id)
      card = @book.find(id) or return answer(404, "text/plain", "no such card\n")
      answer(200, "text/vcard; charset=utf-8", card.text, "etag" => %("#{card.etag}"))
    end

    def html(page) = answer(200, "text/html; charset=utf-8", page)

    def answer(status, type, body, headers = {})
      [status, { "content-type" => type, "content-length" => body.bytesize.to_s }.merge(headers), [body]]
    end
  end
end
