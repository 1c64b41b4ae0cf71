module Contacts
  # The HTML pages, as strings.
  module Pages
    def self.h(text) = CGI.escapeHTML(text.to_s)

    def self.layout(title, content)
      <<~HTML
        <!DOCTYPE html>
        <html lang="en">
        <head><meta charset="utf-8"><title>#{h(title)}</title></head>
        <body>
        <nav><a href="/">Dashboard</a> <a href="/contacts">Contacts</a></nav>
        <h1>#{h(title)}</h1>
        #{content}
        </body>
        </html>
      HTML
    end

    def self.dashboard(cards)
      photos = cards.map(&:photo).compact
      sizes = photos.map { |photo| photo.bytes.bytesize }
      months = cards.filter_map(&:birthday).group_by(&:month).sort
      latest = cards.sort_by { |card| [card.revised, card.id] }.last(10).reverse

      layout "Dashboard", [
        "<p>#{cards.size} contacts, #{photos.size} photos (#{sizes.sum} bytes)</p>",
        list("Companies", top(cards.map(&:company)) { |company, count| "#{h(company)}: #{count}" }),
        list("Categories", top(cards.flat_map(&:categories)) { |name, count| "#{h(name)}: #{count}" }),
        list("Birthdays", months.map { |month, those| "#{Date::MONTHNAMES[month]}: #{those.size}" }),
        list("Last changed", latest.map { |card| "#{link(card)} #{h(card.revised)}" })
      ].join("\n")
    end

    def self.contacts(title, cards)
      rows = cards.sort_by { |card| [card.name, card.id] }.map { |card| row(card) }
      layout title, <<~HTML
        <p>#{cards.size} contacts</p>
        <table>
        <thead><tr><th></th><th>Name</th><th>Company</th><th>Mail</th><th>Phone</th><th>Address</th><th>Born</th></tr></thead>
        <tbody>
        #{rows.join("\n")}
        </tbody>
        </table>
      HTML
    end

    def self.row(card)
      mails = card.emails.map { |mail| %(<a href="mailto:#{h(mail)}">#{h(mail)}</a>) }
      phones = card.phones.map { |type, number| "#{h(number)} (#{h(type)})" }
      cells = [picture(card), link(card), h(card.company), mails.join(" "), phones.join("<br>"),
               h(card.address), h(card.birthday)]
      "<tr>#{cells.map { |cell| "<td>#{cell}</td>" }.join}</tr>"
    end

    # The size of the photo is shown beside it, so the photo has to be decoded.
    def self.picture(card)
      photo = card.photo
      photo ? %(<img alt="" src="/cards/#{card.id}/photo" data-bytes="#{photo.bytes.bytesize}">) : ""
    end

    def self.link(card)
      %(<a href="/cards/#{card.id}.vcf">#{h(card.name)}</a>)
    end

    def self.list(title, items)
      "<h2>#{h(title)}</h2><ul>#{items.map { |item| "<li>#{item}</li>" }.join}</ul>"
    end

    def self.top(values)
      values.compact.tally.sort_by { |value, count| [-count, value] }.first(12).map { |pair| yield(*pair) }
    end
  end
end
