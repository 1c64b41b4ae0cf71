module Contacts
  # The part of CardDAV that a phone asks first: what is in the book, and which version of it.
  module Dav
    NAMESPACES = {
      "xmlns:d" => "DAV:",
      "xmlns:c" => "urn:ietf:params:xml:ns:carddav"
    }.freeze

    # Whether the client asked for the cards themselves and not only for their versions.
    def self.card_data?(body)
      return false if body.empty?

      !Nokogiri::XML(body).at_xpath("//c:address-data", "c" => NAMESPACES["xmlns:c"]).nil?
    end

    def self.multistatus(cards, card_data:)
      Nokogiri::XML::Builder.new(encoding: "UTF-8") do |xml|
        xml["d"].multistatus(NAMESPACES) do
          cards.each { |card| response(xml, card, card_data) }
        end
      end.to_xml
    end

    def self.response(xml, card, card_data)
      xml["d"].response do
        xml["d"].href "/cards/#{card.id}.vcf"
        xml["d"].propstat do
          xml["d"].prop do
            xml["d"].displayname card.name
            xml["d"].getetag %("#{card.etag}")
            xml["d"].getcontenttype "text/vcard; charset=utf-8"
            xml["d"].getcontentlength card.text.bytesize
            xml["c"].send(:"address-data", card.text) if card_data
          end
          xml["d"].status "HTTP/1.1 200 OK"
        end
      end
    end
  end
end
