import CCurl
import Foundation
import HalcyonNetworking

extension CurlTransfer {
    /// Sets the options of the handle for the request.
    ///
    /// - Throws: `NetworkError.transport(code:_:)` if libcurl refuses something.
    func configure(_ configuration: CurlTransport.Configuration) throws(NetworkError) {
        let request = order.request
        var options = CurlOptions(handle: handle)
        options.string(CURLOPT_URL, request.url.absoluteString)
        options.string(CURLOPT_PROTOCOLS_STR, request.allowedSchemes.sorted().joined(separator: ","))
        options.pointer(CURLOPT_ERRORBUFFER, message.baseAddress)
        // No signals, and no wait for a name look-up when a transfer is cancelled.
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

    private func setProtocol(_ request: TransportRequest, _ options: inout CurlOptions) {
        // Without TLS there is no HTTP/2 to wait for.
        let isAgreed = request.httpVersion == .http2OverTLS && request.url.scheme?.lowercased() == "https"
        if request.httpVersion == .http2Only {
            options.long(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
        } else {
            options.long(CURLOPT_HTTP_VERSION, Int(isAgreed ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        }
        // Waits for a connection that can be shared before it opens another.
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
        if order.beganUndecoded != nil {
            options.long(CURLOPT_HTTP_CONTENT_DECODING, 0)
            if request.headers["Accept-Encoding"] == nil { addHeader("Accept-Encoding", "identity", &options) }
        } else {
            // Whatever is requested, what a server compresses all the same is decompressed. A range is a part of the stored
            // representation, not of its compressed form.
            let accepts = request.acceptsCompression && request.headers["Range"] == nil
            options.string(CURLOPT_ACCEPT_ENCODING, accepts ? "" : "identity")
        }
        for field in request.headers.fields {
            addHeader(field.name, field.value, &options)
        }
        if request.headers["User-Agent"] == nil, !configuration.userAgent.isEmpty {
            options.string(CURLOPT_USERAGENT, configuration.userAgent)
        }
        options.list(CURLOPT_HTTPHEADER, sentHeaders)
    }

    private func addHeader(_ name: String, _ value: String, _ options: inout CurlOptions) {
        // A semicolon stands for an empty value.
        guard let extended = curl_slist_append(sentHeaders, value.isEmpty ? "\(name);" : "\(name): \(value)") else {
            return options.check(CURLE_OUT_OF_MEMORY)
        }
        sentHeaders = extended
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
        // The loop keeps the transfer until libcurl has released the handle.
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
                { context, address, _, port, _ in
                    guard let context else { return CURL_PREREQFUNC_ABORT }
                    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                    let text = address.map { String(cString: $0) } ?? ""
                    return transfer.connected(to: text, port: Int(port)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
                }, context))
        options.check(
            ccurl_on_open_socket(
                handle,
                { context, _, address in
                    guard let context, let address else { return CURL_SOCKET_BAD }
                    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().openSocket(address)
                }, context))
        guard order.request.body != nil else { return }
        options.check(
            ccurl_on_progress(
                handle,
                { context, _, _, _, sent in
                    guard let context else { return 1 }
                    Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().sent(Int64(sent))
                    return 0
                }, context))
    }
}

/// Sets options of a handle and keeps the first error.
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
