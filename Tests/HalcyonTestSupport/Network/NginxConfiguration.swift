/// The configuration of the nginx that tests start.
enum NginxConfiguration {
    static func text(folder: String, _ plain: Int, _ secure: Int, _ misnamed: Int) -> String {
        """
        daemon off;
        master_process off;
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log;
        events { worker_connections 1024; }
        http {
            log_format brief '$request_method $request_uri $status $server_protocol';
            access_log \(folder)/access.log brief;
            client_body_temp_path \(folder)/body;
            proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            default_type application/octet-stream;
            keepalive_requests 100000;
            keepalive_timeout 600s;
            tcp_nodelay on;
            absolute_redirect off;
            server {
                listen 127.0.0.1:\(plain) backlog=1024;
                listen 127.0.0.1:\(secure) ssl http2;
                ssl_certificate \(folder)/server.pem;
                ssl_certificate_key \(folder)/server.key;
                root \(folder)/files;
                location /gzip/ {
                    alias \(folder)/files/; gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;
                }
                location /private/ {
                    alias \(folder)/files/; auth_basic "engine room"; auth_basic_user_file \(folder)/passwords;
                }
                location /fresh/ {
                    alias \(folder)/files/; add_header Cache-Control "max-age=60, stale-while-revalidate=30";
                }
                location /unstored/ { alias \(folder)/files/; add_header Cache-Control no-store; }
                location /to/ { rewrite ^/to(/.*)$ $1 redirect; }
                location /loop { return 302 /loop; }
                location /elsewhere/ {
                    rewrite ^/elsewhere(/.*)$ https://127.0.0.1:\(secure)$1 redirect;
                }
                location /broken { return 500; }
                location /said { return 200 "$request_method $http_x_said"; }
            }
            server {
                listen 127.0.0.1:\(misnamed) ssl http2;
                ssl_certificate \(folder)/misnamed.pem;
                ssl_certificate_key \(folder)/misnamed.key;
                root \(folder)/files;
            }
        }
        """
    }
}
