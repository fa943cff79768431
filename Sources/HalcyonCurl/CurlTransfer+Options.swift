import CCurl
import Foundation
import HalcyonNetworking

extension CurlTransfer {
    /// Sets the handle up for the request.
    ///
    /// - Throws: `NetworkError.transport(code:_:)` if libcurl refuses something.
    func configure(_ configuration: CurlTransport.Configuration) throws(NetworkError) {
        let request = order.request
        var options = CurlOptions(handle: handle)
        options.string(CURLOPT_URL, request.url.absoluteString)
        options.string(CURLOPT_PROTOCOLS_STR, request.allowedSchemes.sorted().joined(separator: ","))
        options.pointer(CURLOPT_ERRORBUFFER, message.baseAddress)
        // Without signals, and without waiting for a name's look-up when a transfer is cancelled.
        options.long(CURLOPT_NOSIGNAL, 1)
        options.long(CURLOPT_QUICK_EXIT, 1)
        options.long(CURLOPT_FOLLOWLOCATION, 0)
        options.long(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        options.long(CURLOPT_BUFFERSIZE, bufferSize)
        options.long(CURLOPT_CONNECTTIMEOUT_MS, max(request.timeouts.connect.milliseconds, 1))
        setProtocol(request, &options)
        setContent(request, configuration, &options)
        setSecurity(request, &options)
        setCallbacks(&options)
        if let code = options.refused {
            throw .transport(code: Int(code.rawValue), curl_easy_strerror(code).map { String(cString: $0) } ?? "")
        }
    }

    /// Tells the server how urgent the stream is.
    func setWeight(_ priority: TransferPriority) {
        _ = ccurl_set_long(handle, CURLOPT_STREAM_WEIGHT, priority.streamWeight)
    }

    private func setProtocol(_ request: TransportRequest, _ options: inout CurlOptions) {
        // Without TLS nothing is agreed on: waiting for a connection that can be shared would be in vain.
        let isAgreed = request.httpVersion == .http2OverTLS && request.url.scheme?.lowercased() == "https"
        if request.httpVersion == .http2Only {
            options.long(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
        } else {
            options.long(CURLOPT_HTTP_VERSION, Int(isAgreed ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        }
        // Rather wait for a connection that can be shared than open another.
        if isAgreed || request.httpVersion == .http2Only { options.long(CURLOPT_PIPEWAIT, 1) }
        options.long(CURLOPT_STREAM_WEIGHT, request.priority.streamWeight)
        switch request.proxy {
        case .system: break
        case .none: options.string(CURLOPT_PROXY, "")
        case .url(let proxy): options.string(CURLOPT_PROXY, proxy)
        }
    }

    private func setContent(
        _ request: TransportRequest, _ configuration: CurlTransport.Configuration, _ options: inout CurlOptions
    ) {
        if request.method == "HEAD" {
            options.long(CURLOPT_NOBODY, 1)
        } else {
            if let body = request.body { options.body(body) }
            if request.method != "GET" || request.body != nil { options.string(CURLOPT_CUSTOMREQUEST, request.method) }
        }
        // A part of something is a part of what is stored, not of its compressed form.
        if request.acceptsCompression, request.headers["Range"] == nil {
            options.string(CURLOPT_ACCEPT_ENCODING, "")
        }
        for field in request.headers.fields {
            // An empty value is said to libcurl by a semicolon.
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            sentHeaders = curl_slist_append(sentHeaders, line)
        }
        if request.headers["User-Agent"] == nil, !configuration.userAgent.isEmpty {
            options.string(CURLOPT_USERAGENT, configuration.userAgent)
        }
        options.list(CURLOPT_HTTPHEADER, sentHeaders)
    }

    private func setSecurity(_ request: TransportRequest, _ options: inout CurlOptions) {
        options.long(CURLOPT_SSL_VERIFYPEER, request.tls.isVerified ? 1 : 0)
        options.long(CURLOPT_SSL_VERIFYHOST, request.tls.isVerified ? 2 : 0)
        options.long(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let authorities = request.tls.authorities { options.string(CURLOPT_CAINFO, authorities.path) }
        if let key = request.tls.pinnedPublicKey { options.string(CURLOPT_PINNEDPUBLICKEY, key) }
        if let credential = request.credential {
            switch credential.scheme {
            case .basic: options.long(CURLOPT_HTTPAUTH, CCURL_AUTH_BASIC)
            case .digest: options.long(CURLOPT_HTTPAUTH, CCURL_AUTH_DIGEST)
            case .any: options.long(CURLOPT_HTTPAUTH, CCURL_AUTH_BASIC | CCURL_AUTH_DIGEST)
            }
            options.string(CURLOPT_USERNAME, credential.user)
            options.string(CURLOPT_PASSWORD, credential.password)
        }
    }

    private func setCallbacks(_ options: inout CurlOptions) {
        // The loop keeps the transfer until the handle has left libcurl.
        let context = Unmanaged.passUnretained(self).toOpaque()
        options.check(
            ccurl_on_header(
                handle,
                { bytes, size, count, context in
                    guard let context else { return 0 }
                    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    return transfer.received(header: line) ? size * count : 0
                }, context))
        options.check(
            ccurl_on_body(
                handle,
                { bytes, size, count, context in
                    guard let context else { return 0 }
                    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    return transfer.received(body: piece)
                }, context))
        options.check(
            ccurl_on_connected(
                handle,
                { context, _, _, _, _ in
                    guard let context else { return 1 }
                    Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().connected()
                    return 0
                }, context))
    }
}

/// Sets options of a handle and remembers the first that was refused.
private struct CurlOptions {
    let handle: UnsafeMutableRawPointer
    private(set) var refused: CURLcode?

    init(handle: UnsafeMutableRawPointer) { self.handle = handle }

    mutating func check(_ code: CURLcode) {
        if code != CURLE_OK, refused == nil { refused = code }
    }

    mutating func long(_ option: CURLoption, _ value: Int) { check(ccurl_set_long(handle, option, value)) }
    mutating func string(_ option: CURLoption, _ value: String) { check(ccurl_set_string(handle, option, value)) }
    mutating func pointer(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        check(ccurl_set_pointer(handle, option, value))
    }
    mutating func list(_ option: CURLoption, _ value: UnsafeMutablePointer<curl_slist>?) {
        check(ccurl_set_list(handle, option, value))
    }
    mutating func body(_ data: Data) {
        check(data.withUnsafeBytes { ccurl_set_body(handle, $0.baseAddress, curl_off_t($0.count)) })
    }
}

extension Duration {
    /// Whole milliseconds, rounded down; at most what 32 bits hold.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        if seconds >= Int64(Int32.max) / 1_000 { return Int(Int32.max) }
        return Int(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }
}
